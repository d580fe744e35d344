"""The plan as a value: what it holds, what its digest covers, and that a file is taken back only unedited."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.configuration.policy_files import shipped_default
from artifactctl.domain.artifacts import ArtifactKind, LineageRole
from artifactctl.domain.errors import UsageError
from artifactctl.domain.ledger import Taken
from artifactctl.domain.plans import Bound, ReclaimPlan, canonical_json
from artifactctl.domain.sharing import SharedInode
from artifactctl.guards import standard_guards
from artifactctl.guards.candidate import Recipe, RecipeInput, RemovedChild, Successor
from artifactctl.policy.capping import Past
from artifactctl.policy.ruleset import Matcher, Protect, Relation, RequireSuccessor
from artifactctl.reclaim.planfile import PlanEdited, plan_from_text, plan_to_json
from artifactctl.reclaim.planning import Circumstances, Subject, make_plan
from tests.builders import NOON, a_candidate, a_hold, a_replica, a_tree, an_artifact, an_observation

DEFAULT = shipped_default()

AROUND = Circumstances(
    catalog_id="catalog-1",
    catalog_epoch=1,
    machine_id="machine-1",
    hostname="gpu-1",
    mount=b"/data",
    available_bytes=10**12,
    actor="ada@gpu-1",
    now=NOON,
    waivers=(),
    waiver_reason="",
    purge_now=False,
    past=Past(),
)


def subject(name: str = "data/hidden-old", *, number: int = 1, **changes: Any) -> Subject:
    replica = a_replica(replica_id=number, artifact_id=number, relative=name.encode())
    artifact = an_artifact(name=name, artifact_id=number, replicas=(replica,))
    observation = changes.pop("observation", an_observation(path=b"/data/" + name.encode()))
    candidate = a_candidate(artifact=artifact, replica=replica, **changes)
    return Subject(candidate=candidate, observation=observation, sibling=False)


def plan_for(*subjects: Subject, around: Circumstances = AROUND, policy: Any = DEFAULT) -> ReclaimPlan:
    return make_plan(subjects, guards=standard_guards(), policy=policy, circumstances=around)


def needs(name: str) -> dict[str, Any]:
    entry = RecipeInput(name=name, role=LineageRole.EXTRACTED_FROM, living=True, in_same_plan=False)
    return {"recipe": Recipe(inputs=(entry,), complete=True), "other_copies": ()}


def test_what_is_clear_becomes_a_step_and_the_rest_is_refused_with_its_reason() -> None:
    plan = plan_for(subject("a"), subject("b", number=2, holds=(a_hold(),)))

    assert [step.name for step in plan.steps] == ["a"]
    assert [(item.name, [e.guard for e in item.blocking]) for item in plan.refused] == [("b", ["no_hold"])]
    assert (plan.refused[0].exclusive_bytes, plan.refused[0].bound) == (8192, Bound.EXACT)
    assert plan.expected_freed_bytes == 8192


def test_an_artifact_and_its_only_input_never_go_in_one_plan() -> None:
    plan = plan_for(subject("corpus"), subject("hidden", number=2, **needs("corpus")))

    assert [step.name for step in plan.steps] == ["corpus"]
    assert "would go in the same plan" in plan.refused[0].blocking[0].reason


def test_among_what_the_policy_offers_the_input_stays_and_what_was_built_from_it_goes() -> None:
    offered = {"named_by_operator": False, "offered_by": "rebuildable"}
    plan = plan_for(subject("corpus", **offered), subject("hidden", number=2, **offered, **needs("corpus")))

    assert [step.name for step in plan.steps] == ["hidden"]
    assert "built again from it" in plan.refused[0].blocking[0].reason


def test_an_input_that_is_kept_for_another_reason_does_not_keep_what_was_built_from_it() -> None:
    plan = plan_for(subject("corpus", holds=(a_hold(),)), subject("hidden", number=2, **needs("corpus")))

    assert [step.name for step in plan.steps] == ["hidden"]


def test_a_successor_that_goes_too_is_no_successor() -> None:
    successor = Successor(name="new", kind=ArtifactKind.HIDDEN_STATES, living=True, verified=True, in_same_plan=False)
    plan = plan_for(subject("new"), subject("old", number=2, successor=successor, other_copies=()))

    assert [step.name for step in plan.steps] == ["new"]


def test_an_exceeded_cap_refuses_the_whole_run_and_trims_nothing() -> None:
    policy = DEFAULT.tightened(max_artifacts=1)

    plan = plan_for(subject("a"), subject("b", number=2), policy=policy)

    assert plan.steps == ()
    assert [cap.name for cap in plan.exceeded_caps] == ["artifacts"]
    assert {e.guard for item in plan.refused for e in item.blocking} == {"within_caps"}


def test_tightening_a_limit_never_loosens_another() -> None:
    policy = DEFAULT.tightened(max_bytes=DEFAULT.limits.max_bytes * 2, quiet_time=timedelta(0), grace=timedelta(0))

    assert policy == DEFAULT


def test_time_actor_and_free_space_do_not_change_the_digest() -> None:
    later = replace(AROUND, now=NOON + timedelta(hours=3), actor="bob@gpu-1", available_bytes=5)

    assert plan_for(subject()).digest == plan_for(subject(), around=later).digest


CHANGES: dict[str, tuple[Subject, Circumstances]] = {
    "generation": (
        replace(
            subject(),
            candidate=replace(
                subject().candidate, replica=a_replica(generation=2, relative=b"data/hidden-old", replica_id=1)
            ),
        ),
        AROUND,
    ),
    "fingerprint": (subject(observation=an_observation(tree=a_tree(fingerprint="0" * 64))), AROUND),
    "purge at once": (subject(), replace(AROUND, purge_now=True)),
    "machine": (subject(), replace(AROUND, machine_id="machine-2")),
    "catalog": (subject(), replace(AROUND, catalog_id="catalog-2")),
    "waiver": (subject(), replace(AROUND, waivers=("settled",), waiver_reason="it is mine")),
    "freed bytes": (subject(observation=an_observation(tree=a_tree(exclusive_bytes=0))), AROUND),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_would_be_done_and_to_what_changes_the_digest(case: str) -> None:
    changed, around = CHANGES[case]

    assert plan_for(changed, around=around).digest != plan_for(subject()).digest


def test_a_plan_comes_back_from_its_file_as_it_was() -> None:
    plan = plan_for(subject("caf\udce9\n".encode("utf-8", "surrogateescape").decode("latin-1")), subject("b", number=2))

    text = canonical_json(plan_to_json(plan))

    assert plan_from_text(text, where="plan.json") == plan


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _leaves(value[key], (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for place, item in enumerate(value) for leaf in _leaves(item, (*path, place))]
    return [path]


def test_bytes_that_two_steps_share_are_counted_once_with_the_later_one() -> None:
    def seen(*, inside: int, links: int) -> Any:
        shared = SharedInode(inode=7, birth_ns=1, names_inside=inside, links=links, allocated_bytes=4096)
        return an_observation(tree=a_tree(exclusive_bytes=1000, shared_inodes=(shared,)))

    together = plan_for(
        subject("a", observation=seen(inside=1, links=3)), subject("b", number=2, observation=seen(inside=2, links=3))
    )
    kept_outside = plan_for(subject("a", observation=seen(inside=1, links=3)))

    assert [step.expected_freed_bytes for step in together.steps] == [1000, 5096]
    assert kept_outside.expected_freed_bytes == 1000


def test_what_replaces_a_removed_thing_replaces_nothing_when_it_goes_in_the_same_plan() -> None:
    removed = RemovedChild(name="older", replaced_by="b")
    corpus = subject("a", rebuilt_from_this=(removed,))

    alone, together = plan_for(corpus), plan_for(corpus, subject("b", number=2))

    assert [step.name for step in alone.steps] == ["a"]
    assert [step.name for step in together.steps] == ["b"]
    assert [(item.name, [e.guard for e in item.blocking]) for item in together.refused] == [("a", ["recoverable"])]


@given(data=st.data())
def test_an_edit_anywhere_in_a_plan_file_is_noticed(data: st.DataObject) -> None:
    body = json.loads(canonical_json(plan_to_json(plan_for(subject(), subject("b", number=2, holds=(a_hold(),))))))
    path = data.draw(st.sampled_from(_leaves(body)))
    place = body
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    place[path[-1]] = {bool: lambda v: not v, int: lambda v: v + 1, str: lambda v: v + "x"}.get(
        type(old), lambda v: ["x"]
    )(old)

    with pytest.raises((PlanEdited, UsageError)):
        plan_from_text(json.dumps(body), where="plan.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": "artifactctl.reclaim-plan/1"}', "null"])
def test_what_is_no_plan_is_called_that(text: str) -> None:
    with pytest.raises(UsageError, match=r"plan\.json"):
        plan_from_text(text, where="plan.json")


@given(order=st.permutations(range(5)))
def test_the_order_of_the_subjects_decides_the_order_of_steps_and_nothing_else(order: list[int]) -> None:
    subjects = [subject(f"s{n}", number=n + 1, holds=(a_hold(),) if n == 2 else ()) for n in range(5)]

    plan = plan_for(*[subjects[n] for n in order])

    assert {step.name for step in plan.steps} == {"s0", "s1", "s3", "s4"}
    assert [step.name for step in plan.steps] == [f"s{n}" for n in order if n != 2]


def test_what_is_exceeded_in_a_day_counts_what_already_went() -> None:
    policy = replace(DEFAULT, limits=replace(DEFAULT.limits, max_artifacts_per_day=2))
    busy = replace(AROUND, past=Past(today=Taken(bytes=0, artifacts=2)))

    assert plan_for(subject(), policy=policy).steps
    refused = plan_for(subject(), policy=policy, around=busy)
    assert [cap.excess for cap in refused.exceeded_caps] == [1]
    assert plan_from_text(canonical_json(plan_to_json(refused)), where="plan.json") == refused


def test_who_must_agree_stands_in_the_plan_and_not_in_its_digest() -> None:
    asking = replace(DEFAULT, limits=replace(DEFAULT.limits, approval_on_jump=1.0))
    after_a_small_run = replace(AROUND, past=Past(last_runs=(Taken(bytes=1, artifacts=1),)))

    first, second = plan_for(subject(), policy=asking), plan_for(subject(), policy=asking, around=after_a_small_run)

    assert (first.needs_approval, len(second.needs_approval)) == ((), 1)
    assert first.digest == second.digest


RELEASED = Protect(name="released", reason="Shipped to serving", match=Matcher())
KIN = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5), st.integers(0, 5)), min_size=6, max_size=6)


def related(kin: list[tuple[bool, bool, int, int]], protected: frozenset[int]) -> list[Subject]:
    """Six artifacts: named or offered for what supersedes it, built from one of the others, superseded by another."""
    subjects = []
    for number, (named, resting, source, newer) in enumerate(kin):
        successor = Successor(
            name=f"s{newer}", kind=ArtifactKind.HIDDEN_STATES, living=True, verified=True, in_same_plan=False
        )
        changes: dict[str, Any] = {"named_by_operator": named, "offered_by": "" if named else "some-rule"}
        changes |= needs(f"s{source}") if source != number else {}
        changes |= {"successor": successor} if newer != number else {}
        if resting and not named:
            relation = Relation(roles=(LineageRole.SUPERSEDES,))
            changes["required_successor"] = RequireSuccessor(relation=relation, verified=True)
        protect = RELEASED if number in protected else None
        subjects.append(subject(f"s{number}", number=number + 1, protect=protect, **changes))
    return subjects


@given(kin=KIN, protected=st.frozensets(st.integers(0, 5)), more=st.frozensets(st.integers(0, 5)))
def test_adding_a_protect_never_makes_anything_more_removable(
    kin: list[tuple[bool, bool, int, int]], protected: frozenset[int], more: frozenset[int]
) -> None:
    before = {step.name for step in plan_for(*related(kin, protected)).steps}
    after = {step.name for step in plan_for(*related(kin, protected | more)).steps}

    assert after == before - {f"s{number}" for number in more}


@given(kin=KIN, most=st.integers(0, 6), fewer=st.integers(0, 6))
def test_tightening_a_cap_never_makes_anything_more_removable(
    kin: list[tuple[bool, bool, int, int]], most: int, fewer: int
) -> None:
    loose = replace(DEFAULT, limits=replace(DEFAULT.limits, max_artifacts=most))

    before = plan_for(*related(kin, frozenset()), policy=loose).steps
    after = plan_for(*related(kin, frozenset()), policy=loose.tightened(max_artifacts=fewer)).steps

    assert {step.name for step in after} <= {step.name for step in before}
