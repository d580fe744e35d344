"""A purge that is killed between an unlink and the record of it, where another quarantine has the file's other name."""

import os
import signal
from dataclasses import replace

import pytest

from artifactctl.hosts.probe.points import VARIABLE
from tests.bench.command_line import CommandLine
from tests.bench.site import Site

pytestmark = pytest.mark.system

SHARED_BYTES = 4 << 20


@pytest.fixture
def shared(site: Site) -> Site:
    """`one` and `two` in quarantine, with the bytes of one file between them."""
    for name in ("one", "two"):
        (site.root / name).mkdir()
        (site.root / name / "own.bin").write_bytes(name.encode() * 100)
    (site.root / "one" / "a-shared.bin").write_bytes(os.urandom(SHARED_BYTES))
    os.link(site.root / "one" / "a-shared.bin", site.root / "two" / "a-shared.bin")
    for name in ("one", "two"):
        site.done("register", site.root / name, "--kind", "other", "--name", name)
    site.done("reclaim", "one", "two", "--waive", "recoverable", "--yes", "--reason", "test")
    return site


def kill_amid_the_purge_of_one(site: Site) -> None:
    """End `quarantine purge one` right after its first unlinked member, which is not recorded yet."""
    (first, *_) = sorted(path.name for path in site.content_in_quarantine()[0].iterdir())
    assert first == "a-shared.bin"
    plain = CommandLine(home=site.cli.home, cwd=site.cli.cwd)
    killed = replace(plain, extra_environment={VARIABLE: "purge:member-removed=kill"})
    assert killed("quarantine", "purge", "one", "--yes").code == -signal.SIGKILL


def test_what_is_said_after_it_never_counts_the_shared_bytes_before_their_last_name_goes(shared: Site) -> None:
    kill_amid_the_purge_of_one(shared)

    completed = shared("quarantine", "purge", "one", "--yes", "--json")
    other = shared("quarantine", "purge", "two", "--yes", "--json")

    assert completed.code in (0, 4), completed
    for step in completed.json()["steps"] if completed.code == 0 else []:
        assert step["expected_freed_bytes"] < SHARED_BYTES
    (two,) = other.json()["steps"]
    if two["outcome"] == "refused":  # the crash left the other name unproven
        said = [item["remedy"] for item in two["evidence"] if item["guard"] == "unchanged"]
        assert "quarantine restore two" in said[0]
        shared.done("quarantine", "restore", "two")
        shared.done("reclaim", "two", "--waive", "recoverable", "--yes", "--reason", "test")
        (two,) = shared.done("quarantine", "purge", "two", "--yes", "--json").json()["steps"]
    assert two["outcome"] == "purged"
    assert SHARED_BYTES <= two["expected_freed_bytes"] < 2 * SHARED_BYTES
    assert two["measured_freed_bytes"] >= SHARED_BYTES
