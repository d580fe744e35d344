"""Public disasters tried here that no other test has (`tests/replays.toml` says where all of them are tried)."""

import os
from contextlib import ExitStack

import pytest

from tests.bench import holders
from tests.bench.command_line import CommandLine
from tests.bench.pausing import paused_at
from tests.bench.site import ROOT_NAME, Site, picture

pytestmark = pytest.mark.system

USAGE, REFUSED, PARTLY, BUSY = 2, 4, 5, 6
GO = ("--yes", "--reason", "test")


@pytest.mark.parametrize("entries_before", [0, 1], ids=["at once", "after some entries"])
def test_a_folder_that_fails_to_be_listed_is_never_empty(site: Site, entries_before: int) -> None:
    name = site.superseded("old")
    when = f":when={entries_before + 1}+"
    failing = ("strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-P", str(site.root / "old"))
    failing = (*failing, "-e", "trace=getdents64", "-e", f"inject=getdents64:error=EIO{when}")
    cli = CommandLine(home=site.cli.home, cwd=site.cli.cwd, prefix=failing)
    before = picture(site.root / "old")

    scanned = cli("scan", ROOT_NAME)
    said = cli("reclaim", name, *GO, "--purge-now", "--json")

    assert scanned.code != 0, scanned
    assert said.code == REFUSED, said
    blocking = {e["guard"] for item in said.json()["refused"] for e in item["evidence"] if e["verdict"] != "clear"}
    assert blocking & {"unchanged", "answered", "removable", "known_members"}, blocking
    assert picture(site.root / "old") == before
    assert site.states()[name] == "live"


def test_a_folder_that_may_hold_a_link_and_cannot_be_read_keeps_everything(site: Site) -> None:
    name = site.superseded("old")
    hidden = site.root / "pins"
    hidden.mkdir()
    (hidden / "keep").symlink_to(site.root / "old")
    failing = ("strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-P", str(hidden))
    failing = (*failing, "-e", "trace=getdents64", "-e", "inject=getdents64:error=EACCES")
    cli = CommandLine(home=site.cli.home, cwd=site.cli.cwd, prefix=failing)

    said = cli("reclaim", name, *GO, "--json")

    assert said.code == REFUSED, said
    evidence = {e["guard"]: e for item in said.json()["refused"] for e in item["evidence"]}
    assert evidence["not_referenced"]["verdict"] == "unknown"
    assert (site.root / "old").is_dir()


def test_what_removes_needs_to_be_told_what(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    before = picture(site.root)

    for words in (("quarantine", "purge"), ("quarantine", "purge", "--yes"), ("quarantine", "restore"), ("apply",)):
        said = site(*words)
        assert said.code == USAGE, said
        assert said.stderr

    assert picture(site.root) == before


def test_what_may_not_be_moved_stops_nothing_else(site: Site) -> None:
    names = [site.superseded(name) for name in ("a", "b", "c")]
    plan = site.cli.cwd / "plan.json"
    site.done("reclaim", *names, "--out", plan)
    before = picture(site.root / "b")
    with ExitStack() as stack:
        stack.enter_context(holders.bind_mount(site.root / "b", site.root / "b"))

        said = site("apply", plan, *GO, "--json")

    outcomes = {step["name"]: step["outcome"] for step in said.json()["steps"]}
    assert said.code == PARTLY, said
    assert outcomes == {"vol/a": "quarantined", "vol/b": "refused", "vol/c": "quarantined"}
    assert picture(site.root / "b") == before


def test_a_plan_and_a_policy_that_are_edited_while_they_are_carried_out_change_nothing(site: Site) -> None:
    one, other = site.superseded("one"), site.superseded("other")
    plan, decoy = site.cli.cwd / "plan.json", site.cli.cwd / "decoy.json"
    site.done("reclaim", one, "--out", plan)
    site.done("reclaim", other, "--purge-now", "--out", decoy)
    before = picture(site.root / "other")

    with paused_at("set-aside:checked", site.cli, "apply", plan, *GO, "--json") as paused:
        plan.write_bytes(decoy.read_bytes())
        settings = site.cli.home / "config" / "artifactctl" / "artifactctl.toml"
        settings.write_text('[policy]\nquiet_time = "0s"\nfiles = ["/nowhere/${UNSET}.yaml"]\n', encoding="utf-8")

    assert [step["name"] for step in paused.outcome.json()["steps"]] == [one], paused.outcome
    assert picture(site.root / "other") == before
    again = site("apply", plan, *GO)
    assert again.code in (USAGE, REFUSED), again
    assert picture(site.root / "other") == before


ODD = (
    "",
    "/",
    ".",
    "..",
    "../data",
    " /data",
    "-rf",
    "--",
    "*",
    "~",
    "$HOME",
    "`touch pwned`",
    "$(touch pwned)",
    ";id",
)


def test_no_odd_path_is_taken_for_another(site: Site) -> None:
    site.superseded("old")
    (site.root / "root").symlink_to("/")
    before = picture(site.root / "old"), sorted(os.listdir(site.root.parent))

    for word in (*ODD, "a\nb", b"\xff\xfe", str(site.root / "root"), str(site.root / "root" / "etc")):
        for command in (("reclaim",), ("quarantine", "purge"), ("quarantine", "restore")):
            said = site(*command, *GO[: 2 if command[-1] == "restore" else 3], "--", word)
            assert said.code in (USAGE, REFUSED), (command, word, said)
            assert "Traceback" not in said.stderr

    assert (picture(site.root / "old"), sorted(os.listdir(site.root.parent))) == before
    assert not (site.cli.cwd / "pwned").exists()


def test_two_containers_of_one_name_and_number_exclude_each_other(site: Site) -> None:
    one, other = site.superseded("one"), site.superseded("other")
    container = ("unshare", "--pid", "--fork", "--mount-proc", "--mount", "--uts", "--kill-child")
    inside = 'hostname twin && mkdir -p /run/own && mount -t tmpfs own /run/own && export TMPDIR=/run/own && exec "$@"'
    cli = CommandLine(home=site.cli.home, cwd=site.cli.cwd, prefix=(*container, "sh", "-c", inside, "sh"))

    with paused_at("set-aside:checked", cli, "reclaim", one, *GO, "--json") as paused:
        meanwhile = cli("reclaim", other, *GO)

    assert meanwhile.code == BUSY, meanwhile
    assert "lock" in meanwhile.stderr
    assert (site.root / "other").is_dir()
    assert [step["outcome"] for step in paused.outcome.json()["steps"]] == ["quarantined"], paused.outcome


def test_a_dangling_link_at_the_old_place_keeps_it_from_being_restored_there(site: Site) -> None:
    name = site.superseded("old")
    before = picture(site.root / "old")
    site.set_aside(name)
    (site.root / "old").symlink_to(site.outside / "nowhere")

    refused = site("quarantine", "restore", name)

    assert refused.code == REFUSED, refused
    assert os.readlink(site.root / "old") == str(site.outside / "nowhere")
    assert os.listdir(site.outside) == []
    (site.root / "old").unlink()
    site.done("quarantine", "restore", name)
    assert picture(site.root / "old") == before
