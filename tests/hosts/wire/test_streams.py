"""A walk streams: in order, in bounded memory at either end, beside other questions, and ended when nobody listens."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe.frames import BATCHES_AHEAD, Kind
from artifactctl.hosts.protocol import Listing
from artifactctl.hosts.remote import RemoteHost
from tests.hosts.wire.links import Cut, agent, breaking

FOLDERS, FILES = 120, 100


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders full of long names."""
    top = tmp_path_factory.mktemp("tree")
    for number in range(FOLDERS):
        folder = top / f"rows_{number:04}"
        folder.mkdir()
        for file in range(FILES):
            (folder / f"data_{file:04}_{'n' * 120}.ckpt").touch()
    (top / "caf\udce9\nline").write_bytes(b"x")
    (top / "latest").symlink_to("rows_0000/\udcff")
    os.mkfifo(top / "pipe")
    return top


def test_a_walk_over_the_wire_is_the_walk_there(tree: Path) -> None:
    with agent() as host:
        far = list(host.walk(os.fsencode(tree)))

    assert far == list(LocalHost().walk(os.fsencode(tree)))


def test_whoever_takes_slowly_makes_the_agent_wait(tree: Path) -> None:
    host, link = breaking(Cut(in_frames=10_000))
    with host:
        link.armed = True
        listings = host.walk(os.fsencode(tree))
        taken = [next(listings), next(listings)]
        time.sleep(1.0)
        ahead = link.delivered.count(Kind.ITEMS)
        inode = host.identity(os.fsencode(tree))
        taken += listings

    assert 0 < ahead <= BATCHES_AHEAD
    assert link.delivered.count(Kind.ITEMS) > 2 * BATCHES_AHEAD
    assert inode is not None
    assert len(taken) == FOLDERS + 1


def test_two_walks_may_be_under_way(tree: Path) -> None:
    with agent() as host:
        pairs = list(zip(host.walk(os.fsencode(tree)), host.walk(os.fsencode(tree)), strict=True))

    assert all(one == other for one, other in pairs)


def test_a_walk_that_is_left_is_left_by_the_agent_too(tree: Path) -> None:
    with agent() as host:
        for _ in range(20):
            listings = host.walk(os.fsencode(tree))
            next(listings)
            _close(listings)
        host.now()
        time.sleep(0.3)

        assert len(_descriptors(host)) < 15


def test_a_walk_may_be_left_when_the_link_is_lost_already(tree: Path) -> None:
    host = agent()
    listings = host.walk(os.fsencode(tree))
    next(listings)

    host.close()
    _close(listings)

    assert host.lost


def _close(listings: Iterator[Listing]) -> None:
    listings.close()  # type: ignore[attr-defined]


def _descriptors(host: RemoteHost) -> list[str]:
    return os.listdir(f"/proc/{host.greeting.process}/fd")
