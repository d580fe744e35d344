"""What a verified copy permits: the original may go, the last copy never."""

import os
from dataclasses import replace

import pytest

from artifactctl.domain.artifacts import ReplicaState, VerifyLevel
from artifactctl.domain.errors import Refused
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.verification import Depth
from artifactctl.inventory.places import NOWHERE, Here
from artifactctl.inventory.verifying import verify
from artifactctl.policy.ruleset import Action, Matcher, Policy, Rule
from artifactctl.reclaim.wishing import targets_of
from tests.archiving.ground import ACTOR, NOON, Ground, picture
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


def test_no_level_below_digests_makes_a_damaged_copy_count_again(ground: Ground) -> None:
    ground.archive()
    damaged = ground.at(ground.far, b"hidden/rows/data_1.bin")
    times = os.stat(damaged)
    with open(damaged, "r+b") as file:
        file.write(b"other")
    os.utime(damaged, ns=(times.st_atime_ns, times.st_mtime_ns))

    members = Depth(level=VerifyLevel.MEMBERS)
    seen = verify(ground.host, ground.catalog, "hidden", here=NOWHERE, now=NOON, actor=ACTOR, depth=members)

    assert [item.ok for item in seen] == [True, True]
    assert any("digests" in words for item in seen for words in item.reservations)
    assert [r.name for r in plan_for(ground, "near").refused] == ["hidden"]


def test_the_path_of_a_copy_that_went_does_not_mean_another_copy(ground: Ground) -> None:
    ground.archive()
    carry_out(ground, plan_for(ground, "near"))
    here = Here(directory=b"/", identify=ground.host.identify)

    with ground.catalog.reading() as reading:
        for path, quarantined in ((ground.near, True), (ground.far, False)):
            words = [os.fsdecode(ground.at(path))]
            if quarantined:
                with pytest.raises(Refused, match=r"lies at .*/near/hidden any more: that copy is quarantined"):
                    targets_of(reading, words, here=here, exists=lambda place: False)
            else:
                (chosen,) = targets_of(reading, words, here=here, exists=lambda place: True).chosen
                assert chosen[1].root.name == "far"


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
