"""A kill before and after every durable step of quarantine, restore and purge, and what the next command makes of it.

Invariant I9: everything whose purge had not begun is where it was or restorable; no half-purged tree is ever live; and
a second recovery changes nothing.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from artifactctl import audit
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.operations import JournalEvent
from artifactctl.reclaim.locking import locked_roots
from artifactctl.reclaim.recovering import unfinished
from tests.fakes.steps import Killed
from tests.reclaim.ground import Ground

Act = Callable[[Ground], object]


def do_quarantine(ground: Ground) -> object:
    return ground.quarantine("hidden-old")


def do_restore(ground: Ground) -> object:
    return ground.restore()


def do_purge(ground: Ground) -> object:
    return ground.purge()


def do_all_at_once(ground: Ground) -> object:
    return ground.apply(ground.plan("hidden-old", purge_now=True))


def nothing(ground: Ground) -> object:
    return ground


def recover(ground: Ground) -> None:
    with locked_roots(ground.workplace, [ground.root]):
        pass


def picture(ground: Ground) -> tuple[object, ...]:
    """Return everything a second recovery must leave alone."""
    with ground.catalog.reading() as reading:
        events = sum(1 for _ in audit.events(reading.connection))
    records = tuple((r.operation, r.event) for r in ground.machine.operations(ground.root))
    return ground.state("hidden-old"), ground.exists("hidden-old"), records, events


def check(ground: Ground, whole: dict[bytes, tuple[int, int]]) -> None:
    """The invariants that must hold after recovery."""
    state = ground.state("hidden-old")
    records = ground.machine.operations(ground.root)
    begun = any(r.event in (JournalEvent.PURGING, JournalEvent.PURGED) for r in records)
    assert state in (ReplicaState.LIVE, ReplicaState.QUARANTINED, ReplicaState.GONE)
    if state is ReplicaState.LIVE:
        assert ground.tree("hidden-old") == whole
    elif state is ReplicaState.QUARANTINED:
        assert not ground.exists("hidden-old")
        ground.restore()
        assert ground.tree("hidden-old") == whole
    else:
        assert begun
        assert not ground.exists("hidden-old")
        assert not any(r.in_quarantine or r.in_purging for r in records)
    with ground.catalog.reading() as reading:
        assert audit.verify(reading.connection).ok


@pytest.mark.parametrize("after", [False, True], ids=["killed before the step", "killed after the step"])
@pytest.mark.parametrize(
    ("before", "act"),
    [(nothing, do_quarantine), (do_quarantine, do_restore), (do_quarantine, do_purge), (nothing, do_all_at_once)],
    ids=["quarantine", "restore", "purge", "purge at once"],
)
def test_a_kill_anywhere_is_recovered(ground: Ground, tmp_path: Path, before: Act, act: Act, after: bool) -> None:
    whole = ground.tree("hidden-old")
    before(ground)
    number = 0
    killed = True
    while killed:
        number += 1
        twin = ground.clone(tmp_path / f"{number}")
        twin.machine.restart()
        twin.machine.kill_at(number, after=after)
        try:
            act(twin)
            killed = False
        except Killed:
            twin.reopen()
            recover(twin)
            first = picture(twin)
            with twin.catalog.reading():
                assert not unfinished(twin.workplace, twin.root), f"step {number}"
            recover(twin)
            assert picture(twin) == first, f"step {number}"
            check(twin, whole)
        finally:
            twin.close()
    assert number > 4


def test_what_is_kept_since_it_was_in_use_is_kept_after_a_killed_restore_that_cannot_be_finished(
    ground: Ground, tmp_path: Path
) -> None:
    def late() -> None:
        ground.machine.do.append(b"/data/.artifactctl/quarantine/op1-1/content/shard-0", b"late")
        ground.machine.do.mkdir(b"/data/hidden-old")

    plan = ground.plan("hidden-old")
    ground.machine.points.after_call("set_aside", late)
    ground.apply(plan)
    ends = set()
    for number in range(1, 4):
        twin = ground.clone(tmp_path / f"{number}")
        twin.machine.restart()
        twin.machine.kill_at(number, after=True)
        with pytest.raises(Killed):
            twin.restore(to=b"rescued")
        twin.reopen()
        if not twin.exists("rescued"):
            twin.machine.do.mkdir(b"/data/rescued")
            recover(twin)
            (record,) = twin.machine.operations(twin.root)
            with twin.catalog.reading() as reading:
                (operation,) = reading.operations(artifact_id=twin.known("hidden-old").artifact_id)
            ends.add((record.event, operation.state, operation.grace_until))
        twin.close()

    assert ends == {(JournalEvent.KEPT, JournalEvent.KEPT, None)}
