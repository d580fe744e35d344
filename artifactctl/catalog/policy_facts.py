"""Rows to what policies see of an artifact.

Everything is what the catalog recorded, without a look at any disk. Holds and leases are those on the artifact itself;
the guards look above and below it too.
"""

import json
import os
import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, repeat

from sqlalchemy import Connection

from artifactctl.catalog import place_queries, policy_queries
from artifactctl.catalog.mapping import AnyRow
from artifactctl.catalog.policy_surroundings import Surroundings, surroundings
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


_KEY, _ROOT, _STATE, _BYTES, _RELATIVE, _PASSED = range(6)
"""Where in a row of `policy_queries.copies` they stand; the artifact's own columns follow."""

_AT_ONCE = 10_000

Standing = tuple[int, str, str, int, str, str, str, bytes, int, int, int, bool, bool]
"""One artifact with its copies taken together.

(Number, name, kind, created, labels, details, root and path of the first live copy, bytes, copies, verified copies,
whether it is live, whether it is complete.)
"""


def _standing(copies: Sequence[AnyRow]) -> Standing:
    """Return what the rows of the copies of one artifact come to."""
    live = [row for row in copies if row[_STATE] == _LIVE]
    states = {row[_STATE] for row in copies}
    key, root_id, _, _, relative, _, name, kind, created, sealed, labels, details = (live or copies)[0]
    return (
        key,
        name,
        kind,
        created,
        labels,
        details,
        root_id if live else "",
        relative if live else b"",
        sum(row[_BYTES] for row in live),
        len(live),
        sum(bool(row[_PASSED]) for row in live),
        bool(live) and _MOVING.isdisjoint(states),
        bool(sealed) and _BUILDING not in states,
    )


def _each_standing(rows: Iterable[AnyRow], places: Container[str]) -> Iterator[Standing]:
    """Yield each artifact with a copy below one of the roots; copies of one follow one another."""
    copies: list[AnyRow] = []
    for row in rows:
        if row[_ROOT] not in places:
            continue
        if copies and copies[0][_KEY] != row[_KEY]:
            yield _standing_alone(copies[0]) if len(copies) == 1 else _standing(copies)
            copies.clear()
        copies.append(row)
    if copies:
        yield _standing(copies)


def _standing_alone(copy: AnyRow) -> Standing:
    """Return the same of an artifact that has one copy, as nearly all of a million have."""
    key, root_id, state, size, relative, passed, name, kind, created, sealed, labels, details = copy
    if state != _LIVE:
        return _standing([copy])
    return key, name, kind, created, labels, details, root_id, relative, size, 1, int(passed), True, bool(sealed)


_NO_RUN: tuple[str, RunState | None] = ("", None)
_NO_SUCCESSOR: tuple[str, ArtifactKind | None, bool] = ("", None, False)


class _Reader:
    """Makes facts of artifacts. `places`: by root id, its name and what the paths below it begin with.

    Some thousand artifacts at a time, field by field.
    """

    def __init__(self, around: Surroundings, *, places: Mapping[str, tuple[str, str]], tells_paths: bool) -> None:
        self._around = around
        self._places = places
        self._tells_paths = tells_paths

    def facts(self, rows: Iterable[AnyRow]) -> Iterator[Facts]:
        """Yield what is known of each artifact with a copy below a managed root."""
        standing = _each_standing(rows, self._places)
        while some := list(islice(standing, _AT_ONCE)):
            yield from self._of(some)

    def _of(self, standing: Sequence[Standing]) -> Iterator[Facts]:
        columns = zip(*standing, strict=True)
        keys, names, words, created, labels, details, roots, relatives, sizes, copies, verified, live, complete = (
            columns
        )
        around = self._around
        kinds = [_KINDS[word] for word in words]
        runs = [around.runs.get(around.producers.get(key), _NO_RUN) for key in keys]
        paths = map(self._path, roots, relatives) if self._tells_paths else repeat("", len(keys))
        successors = [around.successors.get(key, _NO_SUCCESSOR) for key in keys]
        inputs = [around.inputs.get(key) for key in keys]
        fields = (
            keys,
            names,
            kinds,
            [_EPOCH + timedelta(microseconds=each) for each in created],
            paths,
            [self._places[root][0] if root else "" for root in roots],
            sizes,
            copies,
            verified,
            live,
            complete,
            map(around.held.__contains__, keys),
            map(around.leased.__contains__, keys),
            [
                run or self._folder(kind, root, relative)
                for (run, _), kind, root, relative in zip(runs, kinds, roots, relatives, strict=True)
            ],
            [state for _, state in runs],
            map(around.read_by_runs.__contains__, keys),
            [kind is not None for _, kind, _ in successors],
            [name for name, _, _ in successors],
            [kind for _, kind, _ in successors],
            [passed for _, _, passed in successors],
            [each is not None and each.make(kind) for each, kind in zip(inputs, kinds, strict=True)],
            map(_step, map(around.metrics.get(STEP, _NOTHING).get, keys), details),
            map(_pairs, labels),
            self._metrics(keys),
            [around.children.get(key, ()) for key in keys],
        )
        return map(Facts._make, zip(*fields, strict=True))

    def _path(self, root_id: str, relative: bytes) -> str:
        return self._places[root_id][1] + relative.decode(_ENCODING, _ERRORS) if root_id else ""

    def _folder(self, kind: ArtifactKind, root_id: str, relative: bytes) -> str:
        """Return what stands for the run where none is recorded: of a checkpoint the folder in which it lies."""
        return self._path(root_id, relative).rpartition("/")[0] if kind is ArtifactKind.CHECKPOINT else ""

    def _metrics(self, keys: Sequence[int]) -> Iterator[tuple[tuple[str, float], ...]]:
        names = tuple(self._around.metrics)
        values = zip(*(map(found.get, keys) for found in self._around.metrics.values()), strict=True)
        for of_one in values if names else repeat((), len(keys)):
            pairs = zip(names, of_one, strict=True)
            yield tuple(pairs) if None not in of_one else tuple([pair for pair in pairs if pair[1] is not None])


_NOTHING: Mapping[int, float] = {}


def _step(measured: float | None, details: str) -> int | None:
    """Return the step as a whole number: what was measured, else what recognition wrote down."""
    if measured is not None:
        return int(measured) if measured.is_integer() else None
    if STEP not in details:
        return None
    noted = dict(_pairs(details)).get(STEP, "")
    return int(noted) if noted.isascii() and noted.isdecimal() else None


@lru_cache(maxsize=65_536)
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Return labels or details; many artifacts bear the same."""
    return tuple((key, value) for key, value in json.loads(text))
