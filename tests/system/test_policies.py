"""Policy files on a real volume: what they offer, protect, cap and want agreed to, from the command line."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from artifactctl.catalog import open_catalog
from tests.bench.command_line import Outcome
from tests.bench.site import Site

pytestmark = pytest.mark.system

REFUSED = 4
GIVEN_UP = ("--waive", "recoverable", "--reason", "only a test")
BOB = {"SUDO_USER": "bob"}

HEAD = """\
schema: artifactctl/policy/v1
name: runs
defaults: {quiet_time: 0s}
limits: {max_bytes: 1TiB, max_artifacts: 9%s}
"""
LAST_ONE = """\
rules:
  - name: old-runs
    match: {name: vol/run-*}
    keep: {last: {n: 1, group_by: [kind]}}
"""
RELEASED = """\
protect:
  - {name: released, reason: Shipped to serving, match: {name: vol/run-1}}
"""


def policy(site: Site, *parts: str, limits: str = "", file: str = "runs.yaml") -> Path:
    """Write a policy file into the project's folder `policies`."""
    folder = site.cli.cwd / "policies"
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(HEAD % limits + "".join(parts), encoding="utf-8")
    return folder


def configure(site: Site) -> None:
    """Let the project's configuration name the folder."""
    (site.cli.cwd / "artifactctl.toml").write_text('[policy]\nfiles = ["policies"]\n', encoding="utf-8")


def three_runs(site: Site) -> None:
    for number in (1, 2, 3):
        site.dump(f"run-{number}")
        site.done("scan", "vol")


def guards_against(outcome: Outcome) -> dict[str, set[str]]:
    said: list[dict[str, Any]] = outcome.json()["refused"]
    return {
        item["name"]: {e["guard"] for e in item["evidence"] if e["verdict"] != "clear" and not e["waived"]}
        for item in said
    }


def test_a_policy_named_for_one_run_travels_with_its_plan(site: Site) -> None:
    three_runs(site)
    folder = policy(site, LAST_ONE)
    refused = site("reclaim", "--policy", folder, "--dry-run", "--json")
    plan = site.done("reclaim", "--policy", folder, "--out", "plan.json", *GIVEN_UP, "--json").json()
    (folder / "runs.yaml").unlink()
    applied = site.done("apply", "plan.json", "--yes", "--reason", "old", "--json").json()

    assert (refused.code, set(guards_against(refused))) == (REFUSED, {"vol/run-1", "vol/run-2"})
    assert [step["name"] for step in plan["steps"]] == ["vol/run-1", "vol/run-2"]
    assert [cap["name"] for cap in plan["caps"]] == ["bytes", "artifacts"]
    assert {step["outcome"] for step in applied["steps"]} == {"quarantined"}
    events = site.done("audit", "ls", "--action", "quarantine", "--json").json()["events"]
    assert {event["policy_digest"] for event in events} == {plan["policy_digest"]}


def test_a_plan_is_stale_once_a_file_that_was_named_for_it_says_something_else(site: Site) -> None:
    three_runs(site)
    folder = policy(site, LAST_ONE)
    site.done("reclaim", "--policy", folder, "--out", "plan.json", *GIVEN_UP, "--json")
    policy(site, RELEASED, LAST_ONE)

    stale = site("apply", "plan.json", "--yes", "--reason", "old")

    assert stale.code == REFUSED
    assert "runs.yaml, which says something else by now" in stale.stderr
    assert site.quarantined() == []
    policy(site, LAST_ONE)
    site.done("apply", "plan.json", "--yes", "--reason", "old")


def test_a_plan_is_stale_once_a_file_is_added_to_a_folder_that_was_named_for_it(site: Site) -> None:
    three_runs(site)
    folder = policy(site, LAST_ONE)
    site.done("reclaim", "--policy", folder, "--out", "plan.json", *GIVEN_UP, "--json")
    (folder / "notes.txt").write_text("no policy file")
    (folder / "more.yaml").write_text((folder / "runs.yaml").read_text())

    stale = site("apply", "plan.json", "--yes", "--reason", "old")

    assert stale.code == REFUSED
    assert "without more.yaml, which lies there by now" in stale.stderr
    assert site.quarantined() == []
    (folder / "more.yaml").unlink()
    site.done("apply", "plan.json", "--yes", "--reason", "old")


def test_a_plan_is_stale_once_a_configured_policy_has_changed(site: Site) -> None:
    three_runs(site)
    policy(site, LAST_ONE)
    configure(site)
    plan = site.done("reclaim", "--out", "plan.json", *GIVEN_UP, "--json").json()
    shown = site.done("policy", "show", "--json").json()
    policy(site, RELEASED, LAST_ONE)

    stale = site("apply", "plan.json", "--yes", "--reason", "old")

    assert shown["digest"] == plan["policy_digest"]
    assert stale.code == REFUSED
    assert "was made under another policy" in stale.stderr
    assert site.quarantined() == []


def test_what_is_protected_stays_whoever_names_it_and_at_the_purge_as_well(site: Site) -> None:
    three_runs(site)
    site.set_aside("vol/run-1", *GIVEN_UP[:2])
    policy(site, RELEASED, LAST_ONE)
    configure(site)
    (site.cli.cwd / "loose.yaml").write_text(HEAD % "" + LAST_ONE, encoding="utf-8")

    purge = site("quarantine", "purge", "vol/run-1", "--yes", "--json")
    policy(site, "no: such section\n", file="broken.yaml")
    broken = site("reclaim", "vol/run-2", "--dry-run")
    restored = site("quarantine", "restore", "vol/run-1")
    (site.cli.cwd / "policies" / "broken.yaml").unlink()
    named = site("reclaim", "vol/run-1", "--policy", "loose.yaml", "--yes", *GIVEN_UP, "--json")

    blocking = [e["guard"] for e in purge.json()["steps"][0]["evidence"] if e["verdict"] != "clear"]
    assert (purge.code, "unprotected" in blocking) == (REFUSED, True)
    assert (broken.code, "broken.yaml" in broken.stderr) == (2, True)
    assert (restored.code, "the policy cannot be read" in restored.stderr) == (0, True), restored.stderr
    assert (named.code, guards_against(named)) == (REFUSED, {"vol/run-1": {"unprotected"}})
    assert "Shipped to serving" in site.done("why", "vol/run-1").stdout


def test_a_limit_refuses_the_whole_run_and_says_by_how_much(site: Site) -> None:
    three_runs(site)
    limits = ", per_day: {max_artifacts: 1}"
    words = ("reclaim", "--policy", policy(site, LAST_ONE, limits=limits), *GIVEN_UP)
    preview, done = site(*words, "--dry-run"), site(*words, "--yes", "--json")

    assert (preview.code, done.code) == (REFUSED, REFUSED)
    assert (
        "The whole run would be refused: 2 artifacts would go today (UTC), 1 artifact above the limit" in preview.stdout
    )
    over = [cap for cap in done.json()["caps"] if cap["exceeded"]]
    assert [(cap["name"], cap["limit"], cap["exceeded_by"]) for cap in over] == [("artifacts_per_day", 1, 1)]
    assert site.quarantined() == []


def agree_from_another_account(site: Site, digest: str) -> None:
    """Record what `approve` records when bob runs it; `test_roles` runs it as another account."""
    now = datetime.now(UTC)
    catalog = open_catalog(site.cli.home / "state" / "artifactctl" / "catalog.db", now=now)
    try:
        with catalog.writing("bob@here", now) as writing:
            writing.approve(digest, reason="looked at it")
    finally:
        catalog.close()


def test_somebody_else_must_agree_where_the_policy_asks_for_it(site: Site) -> None:
    three_runs(site)
    policy(site, LAST_ONE, limits=", approval_above: 1KiB")
    configure(site)
    at_once = site("reclaim", *GIVEN_UP, "--yes")
    site.done("reclaim", *GIVEN_UP, "--out", "plan.json")
    own = site("approve", "plan.json", "--reason", "mine")
    alone = site("apply", "plan.json", "--yes", "--reason", "old")
    as_bob = site("approve", "plan.json", "--reason", "looked at it", "--json", environment=BOB)
    still = site("apply", "plan.json", "--yes", "--reason", "old")
    digest = json.loads((site.cli.cwd / "plan.json").read_text())["plan_digest"]
    agree_from_another_account(site, digest)
    applied = site("apply", "plan.json", "--json")

    assert at_once.code == REFUSED
    assert "needs the approval of somebody other than root@" in at_once.stderr
    for command in (
        "--out plan.json`",
        '`artifactctl approve plan.json --reason "..."`',
        "`artifactctl apply plan.json`",
    ):
        assert command in at_once.stderr
    assert (own.code, "you planned it" in own.stderr) == (REFUSED, True)
    assert (alone.code, "needs the approval" in alone.stderr) == (REFUSED, True)
    assert (as_bob.code, "that may be you" in as_bob.stderr) == (REFUSED, True), "whatever root says its name is"
    assert (still.code, "needs the approval" in still.stderr) == (REFUSED, True)
    assert (applied.code, len(applied.json()["steps"])) == (0, 2), applied.stderr


def test_a_variable_names_policy_files_as_the_option_does(site: Site) -> None:
    three_runs(site)
    policy(site, LAST_ONE)
    words = ("reclaim", *GIVEN_UP, "--dry-run", "--json")

    by_option = site.done(*words, "--policy", "policies/runs.yaml").json()
    by_variable = site(*words, environment={"ARTIFACTCTL_POLICY_FILES": "policies/runs.yaml"}).json()

    assert by_option["plan_digest"] == by_variable["plan_digest"]
    assert site("plan", "extraction", "--tokens", "500", "--volume", "vol", "--json").code == 0
