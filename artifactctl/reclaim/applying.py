"""From a plan, or a name in quarantine, to a finished operation: locks, recovery, steps, measuring."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.errors import Refused
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.plans import Bound, ReclaimPlan
from artifactctl.domain.results import OperationResult, StepResult
from artifactctl.domain.roles import Act
from artifactctl.hosts.protocol import RootLock
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.rulings import Rulings
from artifactctl.reclaim.applicability import acts_of, check_applicable, plan_roots, steps_to_do
from artifactctl.reclaim.approving import keep_plan
from artifactctl.reclaim.execution import StepExecution
from artifactctl.reclaim.locking import end_what_failed, locked_roots, mirror_operations
from artifactctl.reclaim.losing_touch import in_touch, step_named
from artifactctl.reclaim.planfile import plan_from_text
from artifactctl.reclaim.purging import PURGEABLE, purge_step
from artifactctl.reclaim.quarantined import Quarantined, quarantined, roots_of
from artifactctl.reclaim.reconciliation import STEP_SETTLE_SECONDS, explain, measure
from artifactctl.reclaim.restoring import restore_step
from artifactctl.reclaim.workplace import Workplace


def apply_plan(workplace: Workplace, plan: ReclaimPlan, *, reason: str, resume: bool = False) -> OperationResult:
    """Carry out `plan` and return what happened; `StalePlan` when nothing of it may be done."""
    check_applicable(workplace, plan, resume=resume)
    batch = workplace.new_operation()
    with locked_roots(workplace, plan_roots(workplace, plan)) as locks:
        indexes = steps_to_do(workplace, plan, resume=resume)
        with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
            keep_plan(writing, plan)
            for act in acts_of(plan):
                writing.require(act, about=f"plan {plan.digest[:12]}")
        rulings = _rulings_now(workplace, plan)
        steps: list[StepResult] = []
        for index in indexes:
            if workplace.should_stop():
                break
            operation = f"{batch}-{index + 1}"
            execution = StepExecution(workplace, plan, index, operation=operation, reason=reason, rulings=rulings)
            with in_touch(steps), step_named(plan.steps[index].name):
                result = execution.run(locks[plan.steps[index].root_id])
            steps.append(result)
            _say_among_many(workplace, result, len(indexes))
        interrupted = len(steps) < len(indexes)
        if any(step.outcome is StepOutcome.FAILED for step in steps):
            end_what_failed(workplace, plan_roots(workplace, plan), locks)
        mirror_operations(workplace, plan_roots(workplace, plan))
        if plan.purge_now and not interrupted:
            return _purge_of_plan(workplace, batch, steps, reason=reason, locks=locks)
    with in_touch(steps):
        return _measured(workplace, batch, steps, expected_bytes=0, interrupted=interrupted)


def _rulings_now(workplace: Workplace, plan: ReclaimPlan) -> Rulings | None:
    """Return what the policy says of everything now, before the first step; None where all of it was named.

    What it kept because of something that has gone since the plan was made must still be kept.
    """
    if all(step.was_named for step in plan.steps):
        return None
    with workplace.catalog.reading() as reading:
        return Rulings(workplace.policy, reading, now=workplace.clock())


def with_refusals(result: OperationResult, plan: ReclaimPlan) -> OperationResult:
    """Return the result with what the plan refused as steps of their own, for a plan whose every item was named."""
    refused = [
        StepResult(
            name=item.name,
            outcome=StepOutcome.REFUSED,
            operation="",
            path=item.path,
            evidence=item.evidence,
            allocated_bytes=item.allocated_bytes,
        )
        for item in plan.refused
    ]
    return replace(result, steps=(*result.steps, *refused))


def nothing_done(workplace: Workplace, plan: ReclaimPlan) -> OperationResult:
    """Return the result of a plan of which every item was refused: nothing was changed, and nothing is freed."""
    usage = workplace.host.usage(plan.mount)
    result = OperationResult(operation="", steps=(), before=usage, after=usage, difference_bytes=0)
    return with_refusals(result, plan)


def _purge_of_plan(
    workplace: Workplace, batch: str, steps: Sequence[StepResult], *, reason: str, locks: dict[str, RootLock]
) -> OperationResult:
    """Purge what the plan set aside; what is refused now was set aside all the same, so both are reported."""
    aside = {s.operation: s for s in steps if s.outcome is StepOutcome.QUARANTINED}
    others = [s for s in steps if s.outcome is not StepOutcome.QUARANTINED]
    with workplace.catalog.reading() as reading:
        items = [quarantined(reading, operation) for operation in aside]
    result = _purge(workplace, batch, items, reason=reason, locks=locks, before=others)
    purged = {s.operation for s in result.steps if s.outcome is not StepOutcome.REFUSED}
    still_there = [step for operation, step in aside.items() if operation not in purged]
    return replace(result, steps=(*still_there, *result.steps))


def purge(workplace: Workplace, items: Sequence[Quarantined], *, reason: str) -> OperationResult:
    """Purge what was named; every guard runs again for each, except where a purge had begun: that is completed."""
    check_may_purge(workplace.catalog, items, actor=workplace.actor, now=workplace.clock())
    roots = roots_of(items)
    named = frozenset(item.operation.operation_id for item in items)
    with locked_roots(workplace, roots, leaving=named) as locks:
        with workplace.catalog.reading() as reading:
            current = [quarantined(reading, item.operation.operation_id, PURGEABLE) for item in items]
        return _purge(workplace, workplace.new_operation(), current, reason=reason, locks=locks, before=())


def check_may_purge(catalog: Catalog, items: Sequence[Quarantined], *, actor: str, now: datetime) -> None:
    """Refuse whoever may not purge these; to complete a purge that has begun takes no role."""
    to_begin = [item.artifact.name for item in items if item.replica.state is ReplicaState.QUARANTINED]
    if to_begin:
        catalog.require(Act.PURGE, actor, now, about=", ".join(to_begin))


def restore(
    workplace: Workplace, items: Sequence[Quarantined], *, to: ManagedPath | None, reason: str
) -> OperationResult:
    """Put back what was named; a taken place refuses that one and changes nothing."""
    roots = roots_of(items)
    results: list[StepResult] = []
    refusals: list[Refused] = []
    with locked_roots(workplace, roots) as locks:
        for item in items:
            with workplace.catalog.reading() as reading:
                current = quarantined(reading, item.operation.operation_id)
            lock = locks[current.replica.root.root_id]
            try:
                with in_touch(results), step_named(current.artifact.name):
                    results.append(restore_step(workplace, current, to=to, reason=reason, lock=lock))
            except Refused as refusal:
                refusals.append(refusal)
        mirror_operations(workplace, roots)
    if refusals and not results:
        raise refusals[0]
    for refused in refusals:
        workplace.say(refused.message)
    return _measured(workplace, workplace.new_operation(), results, expected_bytes=0, interrupted=bool(refusals))


def _purge(
    workplace: Workplace,
    batch: str,
    items: Sequence[Quarantined],
    *,
    reason: str,
    locks: dict[str, RootLock],
    before: Sequence[StepResult],
) -> OperationResult:
    host = workplace.host
    steps: list[StepResult] = list(before)
    if not items:
        return _measured(workplace, batch, steps, expected_bytes=0, interrupted=False)
    path = items[0].replica.root.path
    usage_before = host.settle(path, target_available_bytes=None, deadline_seconds=1.0)
    deleted_before = sum(item.size_bytes for item in host.held_by_deleted(path))
    for item in items:
        if workplace.should_stop():
            break
        with in_touch(steps), step_named(item.artifact.name):
            result = _purge_measured(workplace, item, reason=reason, lock=locks[item.replica.root.root_id])
        steps.append(result)
        _say_among_many(workplace, result, len(items))
    mirror_operations(workplace, roots_of(items))
    expected = sum(s.expected_freed_bytes for s in steps)
    bounds = frozenset(_bound_of(workplace, item) for item in items)
    with in_touch(steps):
        measurement = measure(host, usage_before, path, expected_bytes=expected, deleted_open_before=deleted_before)
    explanations, unexplained = explain(measurement, expected_bytes=expected, bounds=bounds)
    return OperationResult(
        operation=batch,
        steps=tuple(steps),
        before=usage_before,
        after=measurement.after,
        difference_bytes=measurement.freed_bytes - expected,
        explanations=explanations,
        unexplained=unexplained,
        interrupted=len(steps) - len(before) < len(items),
    )


def _purge_measured(workplace: Workplace, item: Quarantined, *, reason: str, lock: RootLock) -> StepResult:
    """Purge one operation and measure what came free meanwhile."""
    host, path = workplace.host, item.replica.root.path
    before = host.usage(path)
    result = purge_step(workplace, item, reason=reason, lock=lock)
    if result.outcome is not StepOutcome.PURGED:
        return result
    target = before.available_bytes + result.expected_freed_bytes
    with in_touch([result]):
        after = host.settle(path, target_available_bytes=target, deadline_seconds=STEP_SETTLE_SECONDS)
    return replace(result, measured_freed_bytes=after.free_bytes - before.free_bytes)


def _bound_of(workplace: Workplace, item: Quarantined) -> Bound:
    """Return whether the plan called its prediction exact."""
    with workplace.catalog.reading() as reading:
        saved = reading.plan(item.operation.plan_digest)
    if saved is None:
        return Bound.UPPER
    plan = plan_from_text(saved.document, where=f"plan {saved.digest[:12]} in the catalog")
    return plan.steps[item.operation.step_index].bound


def _measured(
    workplace: Workplace, batch: str, steps: Sequence[StepResult], *, expected_bytes: int, interrupted: bool
) -> OperationResult:
    path = next((step.path for step in steps), None)
    usage = None
    if path is not None:
        with workplace.catalog.reading() as reading:
            roots = roots_here(reading, workplace.host.identify())
        root = next((r for r in roots if path.startswith(r.path.rstrip(b"/") + b"/")), None)
        usage = workplace.host.usage(root.path) if root is not None else None
    return OperationResult(
        operation=batch,
        steps=tuple(steps),
        before=usage,
        after=usage,
        difference_bytes=-expected_bytes,
        interrupted=interrupted,
    )


def _say_among_many(workplace: Workplace, result: StepResult, count: int) -> None:
    """Tell how a step went while others follow; a single one is told by the result itself."""
    if count > 1:
        workplace.say(sentence_for(result))


def sentence_for(result: StepResult) -> str:
    """Return one line for people while an operation runs."""
    why = result.detail or next((e.reason for e in result.evidence if not e.permits_removal), "")
    return f"{result.name}: {result.outcome.value.replace('_', ' ')}" + (f" ({why})" if why else "")
