"""Deleting for good what lies in quarantine: steps 8 to 10 of the deletion protocol.

8.  Run every guard again, in the transaction that sets `purging`; a quarantined replica counts as nobody's copy,
    successor or input. Then announce the purge durably, rename to `.purging`, and unlink what the manifest lists.
9.  fsync the parents, journal the outcome (inside `Host.purge`).
10. Write the tombstone.

A purge by name may come at any time; `--expired` takes only what is past its grace, and the engine checks that itself.
"""

from artifactctl.catalog import RoleMissing, Writing
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import HostFailure, HostUnreachable
from artifactctl.domain.operations import JournalEvent, StepOutcome
from artifactctl.domain.results import StepResult
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, may_remove
from artifactctl.guards.wording import first_of
from artifactctl.hosts.protocol import PurgeResult, RootLock
from artifactctl.reclaim.before_purge import Look, judge, left_bytes, look_before_purge, why_never
from artifactctl.reclaim.quarantined import Quarantined
from artifactctl.reclaim.survey import target_of
from artifactctl.reclaim.workplace import Workplace, must_hold, record

PURGEABLE = (ReplicaState.QUARANTINED, ReplicaState.PURGING)
"""States in which a purge can be asked for: of what is in quarantine, or of what is left of a purge that stopped."""


def purge_step(workplace: Workplace, item: Quarantined, *, reason: str, lock: RootLock) -> StepResult:
    """Purge one operation; every expected failure becomes an outcome."""
    refusal = why_never(item)
    if refusal is not None:
        return _ended(item, StepOutcome.REFUSED, evidence=(refusal,))
    if item.replica.state is ReplicaState.PURGING:
        return _complete(workplace, item, reason=reason, lock=lock)
    try:
        seen = look_before_purge(workplace, item)
    except HostUnreachable:
        raise
    except HostFailure as error:
        return _ended(item, StepOutcome.FAILED, detail=error.message)
    try:
        evidence = _judge_and_mark(workplace, item, seen, reason=reason, lock=lock)
    except RoleMissing as missing:  # taken back since the command began: what it set aside stays aside
        return _ended(item, StepOutcome.REFUSED, evidence=(missing.evidence,))
    if not may_remove(evidence):
        return _ended(item, StepOutcome.REFUSED, evidence=evidence)
    try:
        workplace.host.begin_purge(item.replica.root, item.operation.operation_id)
    except HostUnreachable:
        raise
    except HostFailure as error:
        return _ended(item, StepOutcome.FAILED, detail=f"{error.message}; `artifactctl doctor` says what is next")
    return finish_purge(
        workplace, item, reason=reason, evidence=evidence, expected_freed_bytes=seen.expected_freed_bytes
    )


def _judge_and_mark(
    workplace: Workplace, item: Quarantined, seen: Look, *, reason: str, lock: RootLock
) -> tuple[Evidence, ...]:
    """Run the guards on what the catalog says in this transaction, and mark `purging` when all are clear."""
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        evidence = judge(workplace, writing, item, seen)
        if may_remove(evidence):
            must_hold(lock, item.replica.root)
            expected = {ReplicaState.QUARANTINED}
            writing.change_state(item.replica.replica_id, expected=expected, to=ReplicaState.PURGING)
            writing.update_operation(item.operation.operation_id, state=JournalEvent.PURGE_INTENDED)
            _record(writing, workplace, item, AuditAction.PURGE_BEGIN, reason, evidence)
    return evidence


def _complete(workplace: Workplace, item: Quarantined, *, reason: str, lock: RootLock) -> StepResult:
    """Go on with a purge that has begun: nothing is judged again, since only completion is left."""
    must_hold(lock, item.replica.root)
    try:
        expected = left_bytes(workplace, item)
        workplace.host.begin_purge(item.replica.root, item.operation.operation_id)
    except HostUnreachable:
        raise
    except HostFailure as error:
        return _ended(item, StepOutcome.FAILED, detail=error.message)
    return finish_purge(workplace, item, reason=reason, expected_freed_bytes=expected)


def finish_purge(
    workplace: Workplace,
    item: Quarantined,
    *,
    reason: str,
    evidence: tuple[Evidence, ...] = (),
    expected_freed_bytes: int | None = None,
) -> StepResult:
    """Unlink what is left of a purge that has begun, then write the tombstone; recovery enters here.

    `expected_freed_bytes` is what the last look before it came to. Without one, after a crash, it is what was unlinked
    now by its last name: what was predicted came free in part before, or not at all where another name is left.
    """
    try:
        result = workplace.host.purge(
            item.replica.root,
            item.operation.operation_id,
            should_stop=workplace.should_stop,
            progress=workplace.progress,
        )
    except HostUnreachable:
        raise
    except HostFailure as error:
        return _ended(item, StepOutcome.FAILED, detail=f"{error.message}; `artifactctl doctor` says what is next")
    if not result.complete:
        return _ended(item, StepOutcome.FAILED, detail=_what_is_left(result))
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        writing.change_state(item.replica.replica_id, expected={ReplicaState.PURGING}, to=ReplicaState.GONE)
        writing.update_operation(item.operation.operation_id, state=JournalEvent.PURGED)
        _record(writing, workplace, item, AuditAction.PURGE_DONE, reason, evidence)
    expected = result.removed_bytes if expected_freed_bytes is None else expected_freed_bytes
    return _ended(item, StepOutcome.PURGED, evidence=evidence, expected_freed_bytes=expected)


def _record(
    writing: Writing,
    workplace: Workplace,
    item: Quarantined,
    action: AuditAction,
    reason: str,
    evidence: tuple[Evidence, ...],
) -> None:
    record(
        writing,
        workplace,
        action,
        artifact=item.artifact.name,
        path=target_of(item.replica).absolute,
        size_bytes=item.replica.allocated_bytes,
        reason=reason or item.operation.reason,
        operation=item.operation.operation_id,
        evidence=evidence,
    )


def _what_is_left(result: PurgeResult) -> str:
    if result.interrupted:
        return "interrupted; the rest is removed by `artifactctl doctor --repair` or the next command on this root"
    left = [display_path(path) for path in result.mismatched]
    parts = [*result.errors, *([f"not as in the manifest, so it was left: {first_of(left)}"] if left else [])]
    return "; ".join(parts) or "something is left"


def _ended(
    item: Quarantined,
    outcome: StepOutcome,
    *,
    evidence: tuple[Evidence, ...] = (),
    detail: str = "",
    expected_freed_bytes: int = 0,
) -> StepResult:
    return StepResult(
        name=item.artifact.name,
        outcome=outcome,
        operation=item.operation.operation_id,
        path=target_of(item.replica).absolute,
        evidence=evidence,
        detail=detail,
        expected_freed_bytes=expected_freed_bytes,
        allocated_bytes=item.replica.allocated_bytes,
    )
