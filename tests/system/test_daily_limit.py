"""A limit of a day holds for two runs that begin at the same moment: one is carried out whole, the other not at all."""

from pathlib import Path

import pytest

from tests.bench.pausing import paused_at
from tests.bench.site import Site

pytestmark = pytest.mark.system

THREE_A_DAY = """\
schema: artifactctl/policy/v1
name: three-a-day
defaults: {quiet_time: 0s}
limits: {max_bytes: 1TiB, max_artifacts: 9, per_day: {max_artifacts: 3}}
"""


@pytest.fixture
def two_roots(site: Site) -> Site:
    """A site with two artifacts that may go in `vol` and two in `second`, and a policy that lets three go a day."""
    second = site.outside / "second"
    second.mkdir()
    site.done("root", "add", second, "--name", "second")
    for folder, name in ((site.root, "one"), (site.root, "two"), (second, "three"), (second, "four")):
        (folder / name).mkdir()
        (folder / name / "data.bin").write_bytes(name.encode() * 100)
        site.done("register", folder / name, "--kind", "other", "--name", name)
    policies = site.cli.cwd / "policies"
    policies.mkdir()
    (policies / "three.yaml").write_text(THREE_A_DAY, encoding="utf-8")
    (site.cli.cwd / "artifactctl.toml").write_text('[policy]\nfiles = ["policies"]\n', encoding="utf-8")
    return site


def plan_for(site: Site, *names: str) -> Path:
    plan = site.outside / f"{names[0]}.json"
    site.done("reclaim", *names, "--waive", "recoverable", "--reason", "test", "--out", plan)
    return plan


def wait_no_more(site: Site) -> None:
    """Let the command that waits pass its point when it comes there with its next step."""
    (site.cli.home / "point").unlink()
    (site.cli.home / "point").touch()


@pytest.mark.parametrize(
    ("point", "first_goes"),
    [("intend:journalled", False), ("set-aside:begun", True)],
    ids=["the second one begins before the first", "the second one begins amid the first"],
)
def test_of_two_runs_that_together_go_over_it_one_is_carried_out(
    two_roots: Site,
    point: str,
    first_goes: bool,
) -> None:
    site, approved = two_roots, ("--yes", "--reason", "test", "--json")
    first, second = plan_for(site, "one", "two"), plan_for(site, "three", "four")

    with paused_at(point, site.cli, "apply", first, *approved) as paused:
        other = site("apply", second, *approved)
        wait_no_more(site)

    outcomes = {
        which: [step["outcome"] for step in done.json()["steps"]]
        for which, done in (("first", paused.outcome), ("second", other))
    }
    went, stayed = ("first", "second") if first_goes else ("second", "first")
    assert outcomes == {went: ["quarantined", "quarantined"], stayed: ["refused", "refused"]}
    refused = (other if first_goes else paused.outcome).json()["steps"]
    assert all("within_caps" in {e["guard"] for e in step["evidence"] if e["verdict"] != "clear"} for step in refused)
    assert len(site.quarantined()) == 2
