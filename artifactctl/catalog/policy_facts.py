"""Rows to what policies see of an artifact.

Everything is what the catalog recorded, without a look at any disk. Holds and leases are those on the artifact itself;
the guards look above and below it too.
"""

import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from sqlalchemy import Connection

from artifactctl.catalog import place_queries, policy_queries
from artifactctl.catalog.mapping import AnyRow
from artifactctl.catalog.policy_surroundings import Measured, Surroundings, surroundings
from artifactctl.domain.artifacts import ArtifactKind, ReplicaState, RunState
from artifactctl.policy.facts import Facts
from artifactctl.policy.scope import STEP, Needed, Wanted

_KINDS = {kind.value: kind for kind in ArtifactKind}
_LIVE, _BUILDING = ReplicaState.LIVE.value, ReplicaState.BUILDING.value
_MOVING = frozenset(
    {
        ReplicaState.BUILDING.value,
        ReplicaState.QUARANTINING.value,
        ReplicaState.PURGING.value,
        ReplicaState.RESTORING.value,
        ReplicaState.ARCHIVING.value,
    }
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()


def policy_facts(
    connection: Connection, scope: Sequence[Wanted], *, also: Collection[int], now: datetime, needed: Needed
) -> tuple[Facts, ...]:
    """Return the artifacts with bytes somewhere that are in the scope or numbered in `also`, with what is needed."""
    numbers = sorted(also)
    selection = policy_queries.selection_of(scope, also=numbers)
    if selection is None:
        return ()
    around = surroundings(connection, scope, also=numbers, now=now, needed=needed)
    roots = place_queries.roots_ever(connection).values()
    reader = _Reader(
        around,
        places={
            root.root_id: (root.name, os.fsdecode(root.path.rstrip(b"/")) + "/") for root in roots if root.is_managed
        },
        tells_paths=needed.paths,
    )
    return tuple(reader.facts(policy_queries.copies(connection, selection)))


_ROOT, _STATE, _BYTES, _PASSED = 1, 2, 3, 5
"""Where in a row of `policy_queries.copies` they stand."""

_ALL_LIVE: AbstractSet[str] = frozenset({_LIVE})
_NO_RUN: tuple[str, RunState | None] = ("", None)
_NO_SUCCESSOR: tuple[str, ArtifactKind | None, bool] = ("", None, False)
_NOTHING: Mapping[int, Measured] = {}


class _Reader:
    """Makes facts of the rows of copies. `places`: by root id, its name and what the paths below it begin with."""

    def __init__(self, around: Surroundings, *, places: Mapping[str, tuple[str, str]], tells_paths: bool) -> None:
        self._around = around
        self._places = places
        self._tells_paths = tells_paths

    def facts(self, rows: Iterable[AnyRow]) -> Iterator[Facts]:
        """Yield what is known of each artifact with a copy below a managed root; copies of one follow one another."""
        copies: list[AnyRow] = []
        for row in rows:
            if row[_ROOT] not in self._places:
                continue
            if copies and copies[0][0] != row[0]:
                yield self._of_one(copies)
                copies = []
            copies.append(row)
        if copies:
            yield self._of_one(copies)

    def _of_one(self, copies: Sequence[AnyRow]) -> Facts:
        """Return what is known of the artifact with these copies."""
        if len(copies) == 1 and copies[0][_STATE] == _LIVE:  # as nearly all are
            live, states = copies, _ALL_LIVE
            allocated_bytes, verified_copies = copies[0][_BYTES], int(copies[0][_PASSED])
        else:
            live = [row for row in copies if row[_STATE] == _LIVE]
            states = {row[_STATE] for row in copies}
            allocated_bytes, verified_copies = sum(row[_BYTES] for row in live), sum(bool(row[_PASSED]) for row in live)
        key, root_id, _, _, relative, _, name, kind_word, created, sealed, labels, details = (live or copies)[0]
        around, kind = self._around, _KINDS[kind_word]
        root, start = self._places[root_id] if live else ("", "")
        run, run_state = around.producers.get(key, _NO_RUN)
        asks_folder = not run and kind is ArtifactKind.CHECKPOINT
        path = start + relative.decode(_ENCODING, _ERRORS) if live and (self._tells_paths or asks_folder) else ""
        measured = [(metric, found[key][1]) for metric, found in around.metrics.items() if key in found]
        successor, successor_kind, successor_verified = around.successors.get(key, _NO_SUCCESSOR)
        inputs = around.inputs.get(key)
        return Facts(  # by position, since names take three times as long
            key,
            name,
            kind,
            _EPOCH + timedelta(microseconds=created),
            path if self._tells_paths else "",
            root,
            allocated_bytes,
            len(live),
            verified_copies,
            states is _ALL_LIVE or (bool(live) and _MOVING.isdisjoint(states)),
            sealed and _BUILDING not in states,
            key in around.held,
            key in around.leased,
            path.rpartition("/")[0] if asks_folder else run,
            run_state,
            key in around.read_by_runs,
            successor_kind is not None,
            successor,
            successor_kind,
            successor_verified,
            inputs is not None and inputs.make(kind),
            _step(around.metrics.get(STEP, _NOTHING).get(key), details),
            _pairs(labels),
            tuple(measured),
            around.children.get(key, ()),
        )


def _step(measured: Measured | None, details: str) -> int | None:
    """Return the step as a whole number: what was measured, else what recognition wrote down."""
    if measured is not None:
        return int(measured[1]) if measured[1].is_integer() else None
    noted = dict(_pairs(details)).get(STEP, "") if STEP in details else ""
    return int(noted) if noted.isascii() and noted.isdecimal() else None


@lru_cache(maxsize=65_536)
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Return labels or details; many artifacts bear the same."""
    return tuple((key, value) for key, value in json.loads(text))
