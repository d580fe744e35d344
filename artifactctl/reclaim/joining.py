"""What one command did on several machines, as one result."""

from collections.abc import Sequence
from dataclasses import replace

from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.results import OperationResult, StepResult
from artifactctl.reclaim.quarantined import Quarantined
from artifactctl.reclaim.survey import target_of


def joined_results(results: Sequence[OperationResult], *, interrupted: bool) -> OperationResult:
    """Return them as one; what several volumes had before and after cannot be one figure, so it is None then."""
    if len(results) == 1:
        return replace(results[0], interrupted=results[0].interrupted or interrupted)
    differences = [result.difference_bytes for result in results if result.difference_bytes is not None]
    return OperationResult(
        operation=next((result.operation for result in results if result.operation), ""),
        steps=tuple(step for result in results for step in result.steps),
        before=None,
        after=None,
        difference_bytes=sum(differences) if len(differences) == len(results) else None,
        explanations=tuple(item for result in results for item in result.explanations),
        unexplained=any(result.unexplained for result in results),
        interrupted=interrupted or any(result.interrupted for result in results),
    )


def not_done(items: Sequence[Quarantined], why: str, *, refused: bool) -> OperationResult:
    """Return the result of a machine on which nothing is known to have been done, with the reason in each step."""
    outcome = StepOutcome.REFUSED if refused else StepOutcome.FAILED
    steps = tuple(
        StepResult(
            name=item.artifact.name,
            outcome=outcome,
            operation=item.operation.operation_id,
            path=target_of(item.replica).absolute,
            detail=why,
            measured_freed_bytes=0 if refused else None,
            allocated_bytes=item.replica.allocated_bytes,
        )
        for item in items
    )
    return OperationResult(operation="", steps=steps, before=None, after=None, difference_bytes=None)
