"""Contract: no order of calls, sensible or not, loses or doubles what was not being purged."""

import contextlib
import itertools
from collections.abc import Callable

from hypothesis import given, settings, strategies

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.operations import JournalEvent
from tests.contract.health import PER_WORKSHOP
from tests.contract.workshop import Scene, Tree, Workshop, scene

CALLS: dict[str, Callable[[Scene], object]] = {
    "set aside": lambda made: made.host.set_aside(made.root, made.operation),
    "confirm": lambda made: made.host.confirm(made.root, made.operation),
    "keep": lambda made: made.host.keep(made.root, made.operation, "busy"),
    "abandon": lambda made: made.host.abandon(made.root, made.operation, "no"),
    "put back": lambda made: made.host.put_back(made.root, made.operation, to=None, reason="needed"),
    "put elsewhere": lambda made: made.host.put_back(
        made.root, made.operation, to=made.at(b"runs/rescued"), reason="needed"
    ),
    "begin purge": lambda made: made.host.begin_purge(made.root, made.operation),
    "purge": lambda made: made.host.purge(made.root, made.operation),
    "occupy the old path": lambda made: made.workshop.folder(made.path),
    "free the old path": lambda made: made.workshop.remove(made.path) if is_empty(made) else None,
}

_numbers = itertools.count(1)


def is_empty(made: Scene) -> bool:
    """Whether an empty folder stands at the old path."""
    return made.workshop.exists(made.path) and len(made.workshop.tree(made.path)) == 1


def whereabouts(made: Scene, whole: Tree) -> list[bytes]:
    """Return every path at which the whole tree stands, inode for inode."""
    candidates = (made.path, made.root.path + b"/runs/rescued", made.placed)
    return [path for path in candidates if made.workshop.exists(path) and made.workshop.tree(path) == whole]


class ConservationContract:
    """Every verb in every order."""

    @given(calls=strategies.lists(strategies.sampled_from(sorted(CALLS)), min_size=1, max_size=12))
    @settings(max_examples=30, deadline=None, suppress_health_check=PER_WORKSHOP)
    def test_what_is_not_being_purged_stands_whole_at_exactly_one_place(
        self, workshop: Workshop, calls: list[str]
    ) -> None:
        made = scene(workshop, b"root-%d" % next(_numbers)).dump()
        whole = workshop.tree(made.path)
        made.intend()

        for call in calls:
            with contextlib.suppress(HostFailure):  # refused: then nothing may have changed
                CALLS[call](made)
            record = made.record()
            purge_began = record.in_purging or record.event in (JournalEvent.PURGING, JournalEvent.PURGED)

            assert len(whereabouts(made, whole)) == (0 if purge_began else 1)
            assert record.in_quarantine == (workshop.exists(made.placed) and not purge_began)
            assert record.at_original == workshop.exists(made.path)
            assert record.event is not JournalEvent.RESTORED or made.placed not in whereabouts(made, whole)
            assert record.event is not JournalEvent.PURGED or not record.in_purging
