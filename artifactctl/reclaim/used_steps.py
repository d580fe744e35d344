"""Which steps of a plan were begun, and which of those came to nothing."""

from artifactctl.catalog import Reading
from artifactctl.domain.operations import JournalEvent
from artifactctl.domain.plans import ReclaimPlan


def steps_begun(reading: Reading, plan: ReclaimPlan) -> frozenset[int]:
    """Return the indexes of the steps that may not be begun again (invariant I5: a step applies at most once)."""
    used = reading.used_steps(plan.digest)
    return frozenset(index for index in used if not step_was_abandoned(reading, plan, index))


def step_was_abandoned(reading: Reading, plan: ReclaimPlan, index: int) -> bool:
    """Whether the step was begun and never came to the rename: nothing happened, so it may be begun again."""
    step = plan.steps[index]
    mine = [
        operation
        for operation in reading.operations(artifact_id=step.artifact_id)
        if operation.plan_digest == plan.digest and operation.step_index == index
    ]
    return bool(mine) and all(operation.state is JournalEvent.ABANDONED for operation in mine)
