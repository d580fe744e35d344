"""What a verified copy permits: the original may go, the last copy never."""

import os
from dataclasses import replace

import pytest

from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.operations import StepOutcome
from artifactctl.policy.ruleset import Action, Matcher, Policy, Rule
from tests.archiving.ground import NOON, Ground, picture
from tests.archiving.removing import QUICK, carry_out, plan_for

ARCHIVING = replace(QUICK, rules=(Rule(name="states", match=Matcher(names=("hidden",)), action=Action.ARCHIVE),))


def test_the_original_may_go_once_a_copy_is_verified(ground: Ground) -> None:
    assert [r.name for r in plan_for(ground, "near").refused] == ["hidden"]
    before = picture(ground.at(ground.near))
    ground.archive()

    result = carry_out(ground, plan_for(ground, "near"))

    assert [step.outcome for step in result.steps] == [StepOutcome.QUARANTINED]
    assert not os.path.exists(ground.at(ground.near))
    assert picture(ground.at(ground.far)) == before


def test_a_copy_that_is_being_made_counts_for_nothing(ground: Ground) -> None:
    ground.archive(should_stop=lambda: True)
    assert ground.replica(ground.far).state is ReplicaState.ARCHIVING

    assert [r.name for r in plan_for(ground, "near").refused] == ["hidden"]


def test_a_copy_that_was_written_to_since_counts_for_nothing(ground: Ground) -> None:
    ground.archive()
    with open(ground.at(ground.far, b"hidden/rows/data_1.bin"), "r+b") as file:
        file.write(b"other")

    (refused,) = plan_for(ground, "near").refused

    assert {item.guard for item in refused.blocking} == {"recoverable"}


def test_what_was_written_into_the_original_since_is_in_no_copy(ground: Ground) -> None:
    ground.archive()
    path = ground.at(ground.near, b"hidden/rows/data_1.bin")
    with open(path, "r+b") as file:
        file.write(b"other")
    later = NOON.timestamp() + 60
    os.utime(path, (later, later))

    (refused,) = plan_for(ground, "near").refused

    (said,) = [item for item in refused.blocking if item.guard == "recoverable"]
    assert "it was written to after the copy on `far` was verified" in said.reason


@pytest.mark.parametrize("policy", [ARCHIVING])
def test_what_a_rule_archives_goes_only_after_it_was_archived(ground: Ground, policy: Policy) -> None:
    (refused,) = plan_for(ground, policy=policy).refused
    assert "unprotected" in {item.guard for item in refused.blocking}
    assert "artifactctl archive hidden" in str([item.remedy for item in refused.blocking])
    ground.archive()

    result = carry_out(ground, plan_for(ground, policy=policy), policy)

    assert [step.outcome for step in result.steps] == [StepOutcome.QUARANTINED]
    assert ground.replica(ground.near).state is ReplicaState.QUARANTINED
    assert ground.replica(ground.far).state is ReplicaState.LIVE


def test_both_copies_in_one_plan_leave_one(ground: Ground) -> None:
    ground.archive()

    plan = plan_for(ground, "near", "far")
    result = carry_out(ground, plan)

    outcomes = [step.outcome for step in result.steps]
    assert outcomes.count(StepOutcome.QUARANTINED) <= 1
    assert ReplicaState.LIVE in {r.state for r in ground.known().replicas}
