"""A team's catalog on a PostgreSQL server: an artifact's whole life, two operators at once, a frozen one overtaken."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.command_line import CommandLine
from tests.bench.pausing import paused_at
from tests.bench.site import Site, managed_site, picture
from tests.bench.volumes import Volume
from tests.bench.warm_command_line import WarmCommandLine

pytestmark = pytest.mark.system


@pytest.fixture
def team(ext4_volume: Volume, warm_cli: WarmCommandLine, empty_database: str) -> Site:
    """A managed root whose catalog is on the server; `init` made it there."""
    return managed_site(ext4_volume, replace(warm_cli, extra_environment={"ARTIFACTCTL_CATALOG": empty_database}))


def test_an_artifact_lives_goes_comes_back_and_goes_for_good(team: Site) -> None:
    name = team.superseded("old")
    before = picture(team.root / "old")

    team.set_aside(name)
    team.done("quarantine", "restore", name)
    after = picture(team.root / "old")
    team.done("hold", "add", name, "--reason", "for the paper")
    refused = team("reclaim", name, "--yes", "--reason", "test")
    team.done("hold", "release", name, "--reason", "published", "--yes")
    team.set_aside(name)
    team.done("quarantine", "purge", name, "--yes")

    assert after == before
    assert (refused.code, "no_hold" in refused.stdout + refused.stderr) == (4, True)
    assert team.states()[name] == "gone"
    assert team.done("audit", "verify", "--json").json()["ok"] is True
    assert team.done("doctor", "--json").json()["findings"] == []


def test_of_two_who_apply_one_plan_at_once_each_step_is_done_by_one(team: Site) -> None:
    names = [team.superseded(name) for name in ("one", "two")]
    plan = team.outside / "plan.json"
    team.done("reclaim", *names, "--out", plan)

    operator = CommandLine(home=team.cli.home, cwd=team.cli.cwd, extra_environment=team.cli.extra_environment)
    both = [operator.start("apply", plan, "--yes", "--reason", "test", "--json") for _ in range(2)]
    said = [process.communicate(timeout=300)[0] for process in both]

    outcomes = [step["outcome"] for answer in said if answer for step in json.loads(answer).get("steps", [])]
    assert outcomes.count("quarantined") == 2
    assert 0 in [process.returncode for process in both]
    assert {process.returncode for process in both} <= {0, 4, 6}
    assert set(team.quarantined()) == set(names)
    assert team.done("audit", "verify", "--json").json()["ok"] is True


@pytest.mark.parametrize("point", ["intend:journalled", "set-aside:begun", "set-aside:checked"])
def test_an_operator_who_was_frozen_and_overtaken_sets_nothing_aside(team: Site, point: str) -> None:
    name = team.superseded("old")
    before = picture(team.root / "old")

    with paused_at(point, team.cli, "reclaim", name, "--yes", "--reason", "first") as frozen:
        overtake(team)
        team.done("hold", "add", name, "--reason", "needed after all")
        fence = (team.root / ".artifactctl" / "fence.json").read_bytes()

    assert frozen.outcome.code != 0, frozen.outcome
    assert picture(team.root / "old") == before
    assert team.states()[name] == "live"
    assert (team.root / ".artifactctl" / "fence.json").read_bytes() == fence
    assert not team.content_in_quarantine()
    whole_again(team)


def test_an_operator_who_was_frozen_and_overtaken_purges_nothing(team: Site) -> None:
    name = team.superseded("old")
    team.set_aside(name)

    with paused_at("begin-purge:intent-journalled", team.cli, "quarantine", "purge", name, "--yes") as frozen:
        overtake(team)
        team.done("hold", "add", name, "--reason", "needed after all")

    assert frozen.outcome.code != 0, frozen.outcome
    assert team.states()[name] == "quarantined"
    assert team.content_in_quarantine()
    whole_again(team)
    team.done("quarantine", "restore", name)


def test_a_restore_that_was_overtaken_is_ended_by_who_took_over_and_not_once_more(team: Site) -> None:
    name = team.superseded("old")
    before = picture(team.root / "old")
    team.set_aside(name)

    with paused_at("put-back:intent-journalled", team.cli, "quarantine", "restore", name) as frozen:
        overtake(team)

    assert frozen.outcome.code != 0, frozen.outcome
    assert team.states()[name] == "live"
    assert picture(team.root / "old") == before
    whole_again(team)


def overtake(team: Site) -> None:
    """Freeze whoever holds the root's lock, let somebody break that lock, and end what was begun; then thaw."""
    lock = team.root / ".artifactctl" / "lock"
    holder = holder_of(lock)
    os.kill(holder, signal.SIGSTOP)
    try:
        busy = team("doctor", "--repair", "--yes")
        assert busy.code == 6, busy  # the kernel keeps the lock of a frozen process: on one machine this is enough
        lock.unlink()
        team.done("doctor", "--repair", "--yes")
    finally:
        os.kill(holder, signal.SIGCONT)


def holder_of(lock: Path) -> int:
    """Return the process that has the lock file open."""
    wanted = lock.stat()
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            found = entry.stat()
        except OSError:  # it ended meanwhile
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return int(entry.parts[2])
    raise AssertionError("nobody has the lock")


def whole_again(team: Site) -> None:
    assert team.done("doctor", "--json").json()["findings"] == []
    assert team.done("audit", "verify", "--json").json()["ok"] is True
    taken = team.done("audit", "ls", "--action", "root.take_over", "--json").json()["events"]
    assert len(taken) == 1
