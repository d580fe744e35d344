"""Rows to what policies see of an artifact.

Everything is what the catalog recorded, without a look at any disk. Holds and leases are those on the artifact itself;
the guards look above and below it too.
"""

import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from sqlalchemy import Connection

from artifactctl.catalog import place_queries, policy_queries
from artifactctl.catalog.mapping import AnyRow
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, Root, RunState
from artifactctl.domain.ingredients import INPUT_ROLES, names_its_ingredients
from artifactctl.policy.facts import ChildFacts, Facts
from artifactctl.policy.scope import Needed, Wanted

STEP = "step"
_Measured = tuple[int, float]
"""(Microseconds since 1970, value)."""

_KINDS = {kind.value: kind for kind in ArtifactKind}
_ROLES = {role.value: role for role in LineageRole}
_RUN_STATES = {state.value: state for state in RunState}


def policy_facts(
    connection: Connection, scope: Sequence[Wanted], *, also: Collection[int], now: datetime, needed: Needed
) -> tuple[Facts, ...]:
    """Return the artifacts with bytes somewhere that are in the scope or numbered in `also`, with what is needed."""
    condition = policy_queries.condition_for(scope, sorted(also))
    runs = policy_queries.producers(connection, condition) if needed.runs else ()
    known = _Known(
        roots=place_queries.roots_ever(connection),
        metrics=_metrics(policy_queries.measurements(connection, condition)) if needed.metrics else {},
        children=_children(policy_queries.children(connection, condition)) if needed.children else {},
        inputs=_inputs(policy_queries.parents(connection, condition)) if needed.inputs else {},
        producers={key: (run, _RUN_STATES[state]) for key, run, state in runs},
        held=policy_queries.held(connection),
        leased=policy_queries.leased(connection, now),
        read_by_runs=policy_queries.inputs_of_unfinished_runs(connection),
    )
    return tuple(_facts(row, known) for row in policy_queries.artifacts(connection, condition))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Everything about artifacts but their own rows, by artifact id."""

    roots: Mapping[str, Root]
    metrics: Mapping[int, Mapping[str, _Measured]]
    children: Mapping[int, tuple[ChildFacts, ...]]
    inputs: Mapping[int, "_Inputs"]
    producers: Mapping[int, tuple[int, RunState]]
    held: frozenset[int]
    leased: frozenset[int]
    read_by_runs: frozenset[int]


@dataclass(slots=True)
class _Inputs:
    """What an artifact was made from. `all_living`: every input has a live copy."""

    kinds: list[ArtifactKind]
    all_living: bool


def _facts(row: AnyRow, known: _Known) -> Facts:
    key, name, kind_word, created_at, sealed, labels, details, *of_copies = row
    copies, verified_copies, moving, being_built, allocated_bytes, root_id, relative, *of_successor = of_copies
    successor, successor_kind, successor_verified = of_successor
    kind = _KINDS[kind_word]
    root = known.roots.get(root_id)
    path = "" if root is None else os.fsdecode(b"%b/%b" % (root.path.rstrip(b"/"), relative))
    metrics = known.metrics.get(key, {})
    run, run_state = _producer(known, key, kind, path)
    return Facts(
        artifact_id=key,
        name=name,
        kind=kind,
        created_at=created_at,
        path=path,
        root="" if root is None else root.name,
        allocated_bytes=int(allocated_bytes),
        copies=copies,
        verified_copies=verified_copies,
        live=copies > 0 and moving == 0,
        complete=sealed and being_built == 0,
        held=key in known.held,
        leased=key in known.leased,
        run=run,
        run_state=run_state,
        input_of_unfinished_run=key in known.read_by_runs,
        superseded=successor is not None,
        successor=successor or "",
        successor_kind=None if successor is None else _KINDS[successor_kind],
        successor_verified=bool(successor_verified),
        rebuildable=_can_be_rebuilt(kind, known.inputs.get(key)),
        step=_step(metrics, details),
        labels=_pairs(labels),
        metrics=tuple(sorted((metric, value) for metric, (_, value) in metrics.items())),
        children=known.children.get(key, ()),
    )


def _producer(known: _Known, key: int, kind: ArtifactKind, path: str) -> tuple[str, RunState | None]:
    """Return the recorded run, else for a checkpoint the folder that it lies in, whose state nobody knows."""
    found = known.producers.get(key)
    if found is not None:
        return str(found[0]), found[1]
    return (path.rpartition("/")[0] if kind is ArtifactKind.CHECKPOINT else ""), None


def _can_be_rebuilt(kind: ArtifactKind, inputs: "_Inputs | None") -> bool:
    return inputs is not None and inputs.all_living and names_its_ingredients(kind, inputs.kinds)


def _step(metrics: Mapping[str, _Measured], details: str) -> int | None:
    """Return the step as a whole number: what was measured, else what recognition wrote down."""
    if STEP in metrics:
        value = metrics[STEP][1]
        return int(value) if value.is_integer() else None
    noted = dict(_pairs(details)).get(STEP, "") if STEP in details else ""
    return int(noted) if noted.isascii() and noted.isdecimal() else None


@lru_cache(maxsize=65_536)
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Return labels or details; many artifacts bear the same."""
    return tuple((key, value) for key, value in json.loads(text))


def _metrics(rows: Iterable[AnyRow]) -> dict[int, dict[str, _Measured]]:
    """Return the newest value of every metric; of two of one instant, the one recorded later."""
    newest: dict[int, dict[str, _Measured]] = defaultdict(dict)
    for artifact_id, metric, value, measured_at in rows:
        of_artifact = newest[artifact_id]
        if metric not in of_artifact or of_artifact[metric][0] <= measured_at:
            of_artifact[metric] = (measured_at, value)
    return newest


def _children(rows: Iterable[AnyRow]) -> dict[int, tuple[ChildFacts, ...]]:
    found: dict[int, list[ChildFacts]] = defaultdict(list)
    for parent_id, name, kind, role, verified in rows:
        child = ChildFacts(
            name=name, kind=_KINDS[kind], role=_ROLES[role], living=verified is not None, verified=bool(verified)
        )
        found[parent_id].append(child)
    return {
        key: tuple(sorted(each, key=lambda child: (child.name, child.role)) if len(each) > 1 else each)
        for key, each in found.items()
    }


def _inputs(rows: Iterable[AnyRow]) -> dict[int, _Inputs]:
    found: dict[int, _Inputs] = {}
    for child_id, kind, role, living in rows:
        if _ROLES[role] in INPUT_ROLES:
            of_child = found.get(child_id)
            if of_child is None:
                of_child = found[child_id] = _Inputs(kinds=[], all_living=True)
            of_child.kinds.append(_KINDS[kind])
            of_child.all_living = of_child.all_living and bool(living)
    return found
