"""What the policy in force does to plans: rules, protects, limits of a day, consent; at plan, apply and purge."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from artifactctl import audit
from artifactctl.domain.artifacts import ArtifactKind, LineageRole
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.plans import ReclaimPlan
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.rulings import Rulings
from artifactctl.policy.ruleset import (
    Action,
    Keep,
    KeepLast,
    Matcher,
    Protect,
    Relation,
    Require,
    RequireSuccessor,
    Rule,
)
from artifactctl.reclaim.applicability import StalePlan
from artifactctl.reclaim.approving import OwnPlan, PlannerUnknown, approve_plan, record_plan
from artifactctl.reclaim.consent import ApprovalMissing, CapExceeded
from artifactctl.reclaim.preparing import judge
from tests.reclaim.ground import DEFAULT, Ground

SUPERSEDED_ONES = Protect(name="old", reason="Old ones are compared", match=Matcher(superseded=True))
LAST_ONE = Rule(
    name="states",
    match=Matcher(names=("states-*",)),
    keep=Keep(last=KeepLast(n=1, group_by=("kind",))),
)


def limited(**changes: Any) -> Any:
    return replace(DEFAULT, limits=replace(DEFAULT.limits, **changes))


def dumps(ground: Ground, *names: str) -> None:
    """Make hidden states that can all be built again from the corpus."""
    for name in names:
        ground.artifact(name)
        ground.link(name, "corpus", LineageRole.EXTRACTED_FROM)


def refusals(plan: ReclaimPlan) -> dict[str, set[str]]:
    return {item.name: {e.guard for e in item.blocking} for item in plan.refused}


def by(ground: Ground, actor: str) -> Acting:
    return Acting(actor=actor, host="node-1", now=ground.now())


def approve(ground: Ground, plan: ReclaimPlan, actor: str) -> bool:
    """Return whether the consent was taken."""
    try:
        approve_plan(ground.catalog, plan, reason="looked at it", acting=by(ground, actor))
    except OwnPlan:
        return False
    return True


def saved(ground: Ground, *names: str, planner: str = "ada@node-1") -> ReclaimPlan:
    """Return a plan that its planner saved, as `reclaim --out` does."""
    plan = ground.plan(*names)
    record_plan(ground.catalog, plan, acting=by(ground, planner))
    return plan


def test_a_protect_keeps_what_somebody_names(ground: Ground) -> None:
    ground.policy = replace(DEFAULT, protects=(Protect(name="all", reason="Nothing may go", match=Matcher()),))

    plan = ground.plan("hidden-old")

    assert (plan.steps, refusals(plan)) == ((), {"hidden-old": {"unprotected"}})


def test_a_protect_of_what_no_rule_looks_at_keeps_it_when_somebody_asks_why(ground: Ground) -> None:
    corpora = Protect(name="corpora", reason="Everything is made from them", match=Matcher(rebuildable=False))
    ground.policy = replace(DEFAULT, rules=(LAST_ONE,), protects=(corpora,))
    with ground.catalog.reading() as reading:
        corpus = reading.artifact("corpus")
    assert corpus is not None

    subject = judge(ground.workplace, corpus, corpus.replicas[0])

    assert subject.candidate.protect == corpora


@pytest.mark.parametrize("others", [0, 250], ids=["many of the living are offered", "few of the living are offered"])
def test_a_plan_is_the_same_whether_the_catalog_is_read_whole_or_in_parts(ground: Ground, others: int) -> None:
    dumps(ground, "states-1", "states-2", "states-3")
    with ground.catalog.writing("ada@node-1", ground.now()) as writing:
        made = [writing.add_artifact(f"elsewhere-{number}", ArtifactKind.OTHER) for number in range(others)]
        for artifact in made:
            writing.add_replica(
                artifact.artifact_id,
                ground.root.root_id,
                artifact.name.encode(),
                is_directory=True,
                files=1,
                apparent_bytes=1,
                allocated_bytes=4096,
                member_digest="",
                fingerprint="",
                observed_at=ground.now(),
            )
    ground.policy = replace(DEFAULT, rules=(LAST_ONE,))
    with ground.catalog.reading() as reading:
        assert Rulings(ground.policy, reading, now=ground.now()).offers_many is (others == 0)

    assert [step.name for step in ground.plan().steps] == ["states-1", "states-2"]


def test_what_is_protected_only_after_the_plan_was_made_is_refused_when_it_is_applied(ground: Ground) -> None:
    ground.policy = replace(DEFAULT, protects=(SUPERSEDED_ONES,))
    ground.artifact("hidden-new")
    plan = ground.plan("hidden-old")
    ground.supersede("hidden-old", "hidden-new")

    result = ground.apply(plan)

    assert [step.outcome for step in result.steps] == [StepOutcome.REFUSED]
    assert {e.guard for e in result.steps[0].evidence if not e.permits_removal} == {"unprotected"}
    assert ground.exists("hidden-old")


@pytest.mark.parametrize("match", [Matcher(names=("hidden-*",)), Matcher(paths=("/data/*",)), Matcher(roots=("data",))])
def test_a_protect_added_during_the_grace_refuses_the_purge(ground: Ground, match: Matcher) -> None:
    ground.quarantine("hidden-old")
    ground.policy = replace(DEFAULT, protects=(Protect(name="late", reason="The paper needs it", match=match),))

    result = ground.purge()

    assert [step.outcome for step in result.steps] == [StepOutcome.REFUSED]
    assert {e.guard for e in result.steps[0].evidence if not e.permits_removal} == {"unprotected"}
    assert [step.outcome for step in ground.restore().steps] == [StepOutcome.RESTORED]


def test_what_a_rule_offers_and_a_protect_keeps_is_shown_with_its_reason(ground: Ground) -> None:
    dumps(ground, "states-1", "states-2", "states-3")
    first = Protect(name="first", reason="The first is compared", match=Matcher(names=("states-1",)))
    ground.policy = replace(DEFAULT, rules=(LAST_ONE,), protects=(first,))

    plan = ground.plan()

    assert [step.name for step in plan.steps] == ["states-2"]
    assert refusals(plan) == {"states-1": {"unprotected"}}


@pytest.mark.parametrize("asked_for_by_the_protect_alone", [{"rebuildable": True}, {"superseded": False}])
def test_what_only_a_protect_asks_for_is_read_for_what_a_rule_offers(
    ground: Ground, asked_for_by_the_protect_alone: dict[str, Any]
) -> None:
    dumps(ground, "states-1", "states-2", "states-3")
    protect = Protect(
        name="kept", reason="These are compared", match=Matcher(names=("states-1",), **asked_for_by_the_protect_alone)
    )
    ground.policy = replace(DEFAULT, rules=(LAST_ONE,), protects=(protect,))

    plan = ground.plan()

    assert [step.name for step in plan.steps] == ["states-2"]
    assert refusals(plan) == {"states-1": {"unprotected"}}


def test_the_last_of_a_group_stays_even_if_a_later_one_went_after_the_plan_was_made(ground: Ground) -> None:
    dumps(ground, "states-1", "states-2", "states-3")
    ground.policy = replace(DEFAULT, rules=(LAST_ONE,))
    plan = ground.plan()
    ground.quarantine("states-3")

    result = ground.apply(plan)

    assert [(step.name, step.outcome) for step in result.steps] == [
        ("states-1", StepOutcome.QUARANTINED),
        ("states-2", StepOutcome.REFUSED),
    ]
    (said,) = [e for e in result.steps[1].evidence if not e.permits_removal]
    assert (said.guard, said.reason) == ("in_policy", "keep: the newest of kind hidden_states")


def test_naming_an_artifact_skips_rules_and_minimum_age(ground: Ground) -> None:
    ground.policy = replace(DEFAULT, rules=(), min_age=timedelta(days=365))

    assert [step.name for step in ground.plan("hidden-old").steps] == ["hidden-old"]


def test_what_a_rule_archives_is_kept_and_no_waiver_sets_it_aside(ground: Ground) -> None:
    rule = Rule(name="states", match=Matcher(names=("hidden-old",)), action=Action.ARCHIVE)
    ground.policy = replace(DEFAULT, rules=(rule,))

    plan = ground.plan(waivers=("in_policy",), waiver_reason="try it")

    assert (plan.steps, refusals(plan)) == ((), {"hidden-old": {"unprotected"}})
    assert "no verified copy is anywhere else yet" in plan.refused[0].blocking[0].reason
    assert [step.name for step in ground.plan("hidden-old").steps] == ["hidden-old"]


def test_a_child_that_a_rule_asks_for_must_be_verified_as_it_lies_on_disk_now(ground: Ground) -> None:
    dumps(ground, "states-1")
    ground.artifact("draft-states")
    ground.link("draft-states", "states-1", LineageRole.TRAINED_ON)
    ground.verify("draft-states")
    successor = RequireSuccessor(relation=Relation(), verified=True)
    rule = Rule(name="made", match=Matcher(names=("states-1",)), require=Require(successor=successor))
    ground.policy = replace(DEFAULT, rules=(rule,))
    before = ground.plan()

    ground.machine.do.append(b"/data/draft-states/shard-0", b"changed since it was verified")
    after = ground.plan()

    assert [step.name for step in before.steps] == ["states-1"]
    assert after.steps == ()
    assert "successor_verified" in refusals(after)["states-1"]


def test_a_day_s_limit_counts_every_run_of_the_day_and_not_what_was_put_back(ground: Ground) -> None:
    dumps(ground, "states-1", "states-2")
    ground.policy = limited(max_artifacts_per_day=1)
    second = ground.plan("states-2")
    ground.quarantine("states-1")

    with pytest.raises(CapExceeded, match="1 artifact above the limit of 1 artifact a day"):
        ground.apply(second)
    assert refusals(ground.plan("states-2")) == {"states-2": {"within_caps"}}

    ground.restore()
    assert [step.outcome for step in ground.apply(second).steps] == [StepOutcome.QUARANTINED]
    ground.machine.clock.advance(timedelta(days=1))
    assert [step.name for step in ground.plan("states-1").steps] == ["states-1"]


def test_a_plan_that_somebody_else_must_approve_waits_for_that(ground: Ground) -> None:
    ground.policy = limited(approval_above_bytes=0)
    plan = saved(ground, "hidden-old")

    with pytest.raises(ApprovalMissing, match="needs the approval of somebody other than ada@node-1"):
        ground.apply(plan)
    assert not approve(ground, plan, "ada@node-1")
    with pytest.raises(ApprovalMissing):
        ground.apply(plan)
    assert approve(ground, plan, "bob@node-1")
    assert [step.outcome for step in ground.apply(plan).steps] == [StepOutcome.QUARANTINED]

    with ground.catalog.reading() as reading:
        told = [event.entry for event in audit.events(reading.connection) if event.entry.action.startswith("plan.app")]
    assert [(entry.actor, entry.action) for entry in told] == [
        ("ada@node-1", "plan.approve_refused"),
        ("bob@node-1", "plan.approve"),
    ]
    assert told[0].reason == f"you cannot approve plan {plan.digest[:12]}: you planned it"
    assert {entry.policy_digest for entry in told} == {plan.policy_digest}


@pytest.mark.parametrize("second", ["root@node-1", "ada as root@node-1", "bob as root@node-1"])
def test_two_names_of_one_account_are_one_person(ground: Ground, second: str) -> None:
    ground.policy = limited(approval_above_bytes=0)
    plan = saved(ground, "hidden-old", planner="ada as root@node-1")

    assert not approve(ground, plan, second)
    with pytest.raises(ApprovalMissing):
        ground.apply(plan)


def test_the_file_does_not_say_who_planned_it(ground: Ground) -> None:
    ground.policy = limited(approval_above_bytes=0)
    plan = saved(ground, "hidden-old")
    forged = replace(plan, actor="somebody.else@node-1")

    assert forged.digest == plan.digest
    assert not approve(ground, forged, "ada@node-1")
    with pytest.raises(ApprovalMissing):
        ground.apply(forged)


def test_a_plan_that_nobody_put_their_name_to_is_approved_by_nobody(ground: Ground) -> None:
    ground.policy = limited(approval_above_bytes=0)
    plan = ground.plan("hidden-old")

    with pytest.raises(PlannerUnknown, match="nobody has put their name to plan") as refused:
        approve(ground, plan, "bob@node-1")

    assert "--out" in refused.value.remedy
    record_plan(ground.catalog, plan, acting=by(ground, "ada@node-1"))
    assert approve(ground, plan, "bob@node-1")
    assert [step.outcome for step in ground.apply(plan).steps] == [StepOutcome.QUARANTINED]


def test_consent_to_one_plan_is_none_to_another(ground: Ground) -> None:
    dumps(ground, "states-1")
    ground.policy = limited(approval_above_bytes=0)
    approve(ground, saved(ground, "hidden-old"), "bob@node-1")

    with pytest.raises(ApprovalMissing):
        ground.apply(ground.plan("hidden-old", "states-1"))


def test_a_jump_against_the_last_runs_waits_for_consent(ground: Ground) -> None:
    dumps(ground, *(f"states-{number}" for number in range(4)))
    ground.policy = limited(approval_on_jump=2.0)
    ground.quarantine("states-0")

    plan = ground.plan("states-1", "states-2", "states-3")

    assert len(plan.needs_approval) == 2
    with pytest.raises(ApprovalMissing, match="3 artifacts are more than 2 times what the last run took at most"):
        ground.apply(plan)
    assert ground.plan("states-1", "states-2").needs_approval == ()


def test_a_plan_is_stale_when_the_policy_has_changed_since(ground: Ground) -> None:
    plan = ground.plan("hidden-old")
    ground.policy = replace(DEFAULT, protects=(SUPERSEDED_ONES,))

    with pytest.raises(StalePlan, match="under another policy"):
        ground.apply(plan)


def test_every_event_of_a_removal_names_the_policy(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    ground.purge()

    with ground.catalog.reading() as reading:
        told = [event.entry for event in audit.events(reading.connection) if event.entry.operation]
    assert {entry.policy_digest for entry in told} == {DEFAULT.digest}
