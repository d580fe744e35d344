"""What the rows of other tables say of artifacts that policies look at: measurements, kin, runs, promises."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from artifactctl.catalog import policy_queries
from artifactctl.catalog.mapping import AnyRow
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, RunState
from artifactctl.domain.ingredients import INPUT_ROLES, names_its_ingredients
from artifactctl.policy.facts import ChildFacts
from artifactctl.policy.scope import EVERYTHING, Needed, Wanted

Successor = tuple[str, ArtifactKind, bool]
"""(Name, kind, whether it lives and is verified)."""

_KINDS = {kind.value: kind for kind in ArtifactKind}
_ROLES = {role.value: role for role in LineageRole}
_RUN_STATES = {state.value: state for state in RunState}


@dataclass(slots=True)
class Inputs:
    """What an artifact was made from. `all_living`: every input has a live copy."""

    kinds: list[ArtifactKind]
    all_living: bool

    def make(self, kind: ArtifactKind) -> bool:
        """Return whether they are a recipe for an artifact of the kind, and all there."""
        return self.all_living and names_its_ingredients(kind, self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Everything about artifacts but their own rows, by artifact id; `metrics` by name and then by artifact id.

    `producers`: the last run that wrote each; `runs`: what stands for a run, and its state.
    """

    metrics: Mapping[str, Mapping[int, float]]
    children: Mapping[int, tuple[ChildFacts, ...]]
    inputs: Mapping[int, Inputs]
    producers: Mapping[int, int]
    runs: Mapping[int | None, tuple[str, RunState]]
    successors: Mapping[int, Successor]
    held: frozenset[int]
    leased: frozenset[int]
    read_by_runs: frozenset[int]


def surroundings(
    connection: Connection, scope: Sequence[Wanted], *, also: Sequence[int], now: datetime, needed: Needed
) -> Surroundings:
    """Return what is needed of the artifacts in the scope, those numbered in `also` included."""

    def read(
        question: Callable[[Connection, policy_queries.Selection], Iterator[AnyRow]], part: Sequence[Wanted]
    ) -> Iterator[AnyRow]:
        selection = policy_queries.selection_of(scope, part, also=also)
        return iter(()) if selection is None else question(connection, selection)

    producers = {key: run for key, run in read(policy_queries.producers, needed.runs)}
    measured = policy_queries.metric_names(connection) if needed.metric_names is None else needed.metric_names
    return Surroundings(
        metrics={
            metric: {
                key: value for key, value in read(partial(policy_queries.measurements, metric=metric), needed.metrics)
            }
            for metric in sorted(measured)
        },
        children=_children(read(policy_queries.children, needed.children)),
        inputs=_inputs(read(policy_queries.parents, needed.inputs)),
        producers=producers,
        runs={run: (str(run), _RUN_STATES[state]) for run, state in policy_queries.run_states(connection)}
        if producers
        else {},
        successors={
            key: (name, _KINDS[kind], bool(verified))
            for key, name, kind, verified in read(policy_queries.successors, EVERYTHING)
        },
        held=policy_queries.held(connection),
        leased=policy_queries.leased(connection, now),
        read_by_runs=policy_queries.inputs_of_unfinished_runs(connection),
    )


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


def _inputs(rows: Iterable[AnyRow]) -> dict[int, Inputs]:
    found: dict[int, Inputs] = {}
    for child_id, kind, role, living in rows:
        if _ROLES[role] in INPUT_ROLES:
            of_child = found.get(child_id)
            if of_child is None:
                of_child = found[child_id] = Inputs(kinds=[], all_living=True)
            of_child.kinds.append(_KINDS[kind])
            of_child.all_living = of_child.all_living and bool(living)
    return found
