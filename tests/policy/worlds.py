"""Policies and artifacts for tests, spelled short, and hypothesis strategies for arbitrary ones."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from artifactctl.domain.artifacts import ArtifactKind, LineageRole, RunState
from artifactctl.policy.facts import CatalogueView, ChildFacts, Facts
from artifactctl.policy.ruleset import (
    Keep,
    KeepBest,
    KeepEvery,
    KeepLast,
    Limits,
    Matcher,
    MetricMode,
    Policy,
    Protect,
    Relation,
    Require,
    RequireSuccessor,
    Rule,
)
from tests.builders import NOON

METRIC = "eval/acceptance_len"
GROUPINGS = (("run",), ("kind",), ("labels.team",), ("run", "labels.team"), ("folder",))


def facts(artifact_id: int, **changes: Any) -> Facts:
    """Return a live, complete checkpoint of run r1, forty days old, with as many verified copies as copies: one."""
    age = changes.pop("age", timedelta(days=40))
    values: dict[str, Any] = {
        "artifact_id": artifact_id,
        "name": f"data/c{artifact_id}",
        "kind": ArtifactKind.CHECKPOINT,
        "created_at": NOON - age,
        "path": f"/data/r1/c{artifact_id}",
        "root": "data",
        "allocated_bytes": 1000,
        "verified_copies": 1,
        "run": "r1",
    }
    return Facts(**{**values, **changes})


def view(*artifacts: Facts) -> CatalogueView:
    """Return a view of noon."""
    return CatalogueView(artifacts=artifacts, taken_at=NOON)


def policy(**changes: Any) -> Policy:
    """Return a policy with wide limits and nothing in it."""
    values: dict[str, Any] = {"name": "test", "limits": Limits(max_bytes=1 << 60, max_artifacts=10**6)}
    return Policy(**{**values, **changes})


def rule(name: str = "checkpoints", **changes: Any) -> Rule:
    """Return a rule for checkpoints."""
    return Rule(**{"name": name, "match": Matcher(kinds=(ArtifactKind.CHECKPOINT,)), **changes})


def protect(name: str = "released", **match: Any) -> Protect:
    """Return a protect of what `match` says."""
    return Protect(name=name, reason="shipped to serving", match=Matcher(**match))


_kinds = st.sampled_from((ArtifactKind.CHECKPOINT, ArtifactKind.HIDDEN_STATES, ArtifactKind.VOCAB_MAP))
_ages = st.integers(0, 60).map(lambda days: timedelta(days=days))
_few = st.sampled_from

_children = st.builds(
    ChildFacts,
    name=_few(("a", "b")),
    kind=_kinds,
    role=_few((LineageRole.TRAINED_ON, LineageRole.SUPERSEDES)),
    living=st.booleans(),
    verified=st.booleans(),
)


@st.composite
def _facts(draw: st.DrawFn, artifact_id: int) -> Facts:
    return facts(
        artifact_id,
        kind=draw(_kinds),
        age=draw(_ages),
        path=draw(_few(("", "/data/r1/x", "/data/r2/x"))),
        root=draw(_few(("", "data"))),
        run=draw(_few(("", "r1", "r2"))),
        run_state=draw(_few((None, RunState.SUCCEEDED, RunState.FAILED))),
        step=draw(st.none() | st.integers(0, 12)),
        labels=draw(_few(((), (("team", "a"),), (("team", "b"), ("tags", "released, x"))))),
        metrics=draw(_few(((), ((METRIC, 2.0),), ((METRIC, 10.0),), ((METRIC, 3.5),)))),
        verified_copies=draw(st.integers(0, 3)),
        children=tuple(draw(st.lists(_children, max_size=2))),
        **{name: draw(st.integers(0, 5)) > 0 for name in ("complete", "live")},
        **{name: draw(st.integers(0, 7)) == 0 for name in ("held", "leased", "input_of_unfinished_run")},
        **{name: draw(st.booleans()) for name in ("superseded", "successor_verified", "rebuildable")},
    )


@st.composite
def views(draw: st.DrawFn) -> CatalogueView:
    """Draw a view of up to nine artifacts."""
    return view(*(draw(_facts(number)) for number in range(1, draw(st.integers(0, 9)) + 1)))


matchers = st.builds(
    Matcher,
    kinds=_few(((), (ArtifactKind.CHECKPOINT,), (ArtifactKind.HIDDEN_STATES, ArtifactKind.CHECKPOINT))),
    paths=_few(((), ("/data/r1/*",), ("/data/**",))),
    roots=_few(((), ("data",))),
    labels=_few(((), (("team", ("a",)),))),
    any_tag=_few(((), ("released",))),
    superseded=_few((None, None, True)),
    rebuildable=_few((None, None, True)),
    producer_states=_few(((), (RunState.SUCCEEDED,))),
    older_than=st.none() | _ages,
    newer_than=_few((None, timedelta(days=20))),
)

_keep_last = st.builds(KeepLast, n=st.integers(1, 3), group_by=_few(GROUPINGS))
_keep_best = st.builds(
    KeepBest, n=st.integers(1, 3), metric=st.just(METRIC), mode=_few(tuple(MetricMode)), group_by=_few(GROUPINGS)
)
_keeps = st.builds(
    Keep,
    last=st.none() | _keep_last,
    best=st.none() | _keep_best,
    every=st.none() | st.builds(KeepEvery, steps=st.integers(1, 5)),
    newer_than=st.none() | _ages,
    needed_by=_few((None, None, Relation())),
)
_requires = st.builds(
    Require,
    successor=_few((None, None, RequireSuccessor(relation=Relation(), verified=True))),
    rebuildable=_few((False, False, True)),
    min_copies=_few((0, 0, 1)),
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Draw a policy of up to three rules and two protects."""
    return policy(
        protects=tuple(
            Protect(name=f"p{number}", reason="somebody said so", match=draw(matchers))
            for number in range(draw(st.integers(0, 2)))
        ),
        rules=tuple(
            Rule(
                name=f"r{number}",
                match=draw(matchers),
                keep=draw(_keeps),
                require=draw(_requires),
                allow_empty_groups=draw(st.booleans()),
            )
            for number in range(draw(st.integers(0, 3)))
        ),
        min_age=draw(_ages),
    )
