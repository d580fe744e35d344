"""An artifact inside another one's folder never goes with it, and holds reach both ways."""

import pytest

from artifactctl.domain.artifacts import ArtifactKind, ReplicaState
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.plans import ReclaimPlan
from tests.reclaim.ground import DAY, ROOT_PATH, Ground

GIVEN_UP = {"waivers": ("recoverable",), "waiver_reason": "only a test"}


@pytest.fixture
def nested(ground: Ground) -> Ground:
    """`outer` with the artifact `outer/inner` inside, which is none of its members."""
    ground.artifact("outer", kind=ArtifactKind.OTHER)
    ground.machine.do.mkdir(ROOT_PATH + b"/outer/inner")
    ground.machine.do.write(ROOT_PATH + b"/outer/inner/shard-0", b"x" * 5000)
    ground.register("outer/inner", kind=ArtifactKind.OTHER)
    ground.machine.clock.advance(DAY)
    return ground


def refusals(plan: ReclaimPlan) -> dict[str, str]:
    assert not plan.steps
    return {e.guard: e.reason for e in plan.refused[0].evidence if not e.permits_removal and not e.waived}


def hold(ground: Ground, name: str) -> None:
    with ground.catalog.writing("ada@node-1", ground.now()) as writing:
        writing.place_hold(ground.known(name).artifact_id, reason="for the paper")


def test_the_outer_one_does_not_go_while_the_inner_one_is_there(nested: Ground) -> None:
    said = refusals(nested.plan("outer", **GIVEN_UP))

    assert said == {
        "known_members": "outer/inner lies inside, an artifact of its own: it would go as well (inner/shard-0)"
    }


@pytest.mark.parametrize(("held", "asked"), [("outer", "outer/inner"), ("outer/inner", "outer")])
def test_a_hold_keeps_what_lies_around_and_inside(nested: Ground, held: str, asked: str) -> None:
    hold(nested, held)

    assert "no_hold" in refusals(nested.plan(asked, **GIVEN_UP))


def test_a_hold_that_is_placed_after_the_plan_refuses_it(nested: Ground) -> None:
    plan = nested.plan("outer/inner", **GIVEN_UP)
    hold(nested, "outer")

    (step,) = nested.apply(plan).steps

    assert step.outcome is StepOutcome.REFUSED
    assert [e.guard for e in step.evidence if not e.permits_removal and not e.waived] == ["no_hold"]


def test_what_was_set_aside_out_of_the_outer_one_stays_when_that_goes(nested: Ground) -> None:
    nested.apply(nested.plan("outer/inner", **GIVEN_UP))
    nested.machine.clock.advance(DAY)
    (step,) = nested.apply(nested.plan("outer", purge_now=True, **GIVEN_UP)).steps

    assert step.outcome is StepOutcome.PURGED
    assert nested.state("outer/inner") is ReplicaState.QUARANTINED
    assert nested.restore(to=b"inner-again").steps[0].outcome is StepOutcome.RESTORED
    assert nested.exists("inner-again/shard-0")
