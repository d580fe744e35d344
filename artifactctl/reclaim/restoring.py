"""Putting back what lies in quarantine: same tree, same inodes, never over anything."""

from artifactctl.catalog import Writing
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import Refused
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.operations import JournalEvent, StepOutcome
from artifactctl.domain.results import StepResult
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import PutBack, RootLock
from artifactctl.reclaim.quarantined import Quarantined
from artifactctl.reclaim.survey import target_of
from artifactctl.reclaim.workplace import Workplace, must_hold, record

_WHY = {
    PutBack.OCCUPIED: "something else stands there",
    PutBack.ABSENT: "it is not in quarantine any more",
    PutBack.REPLACED: "what lies in quarantine is not what was set aside",
    PutBack.PURGING: "its purge has begun; only completion is left",
    PutBack.CROSS_DEVICE: "that place is on another filesystem; nothing is ever copied",
    PutBack.DENIED: "permission was denied",
    PutBack.NO_PARENT: "the folder that held it is gone, or is reached through a link",
}


_LOST = "`artifactctl doctor` says where it is looked for; nothing more can be done to it from here"


def _remedy(item: Quarantined, outcome: PutBack) -> str:
    if outcome is PutBack.DENIED:
        return "run the same command with sudo, or as the owner of the folder; a read-only volume must be remounted"
    if outcome is PutBack.PURGING:
        return "artifactctl doctor --repair"
    if outcome in (PutBack.ABSENT, PutBack.REPLACED):
        return _LOST
    return f"`artifactctl quarantine restore {item.artifact.name} --to PATH` puts it at another place"


def restore_step(
    workplace: Workplace, item: Quarantined, *, to: ManagedPath | None, reason: str, lock: RootLock
) -> StepResult:
    """Put one operation's content back; `Refused` (nothing changed) when the place is taken."""
    place = to or target_of(item.replica)
    operation = item.operation.operation_id
    root = item.replica.root
    must_hold(lock, root)
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        _refuse_catalogued_place(writing, item, place)
        expected = {ReplicaState.QUARANTINED}
        writing.change_state(item.replica.replica_id, expected=expected, to=ReplicaState.RESTORING)
        writing.update_operation(operation, state=JournalEvent.RESTORE_INTENDED)
        record(
            writing,
            workplace,
            AuditAction.RESTORE_BEGIN,
            artifact=item.artifact.name,
            path=place.absolute,
            reason=reason,
            operation=operation,
        )
    outcome = workplace.host.put_back(root, operation, to=to, reason=reason)
    if outcome is not PutBack.DONE:
        _still_in_quarantine(workplace, item, place, outcome)
        raise Refused(
            f"{item.artifact.name} was not put back at {display_path(place.absolute)}: {_WHY[outcome]}",
            remedy=_remedy(item, outcome),
        )
    return record_restored(workplace, item, place, reason=reason)


def record_restored(workplace: Workplace, item: Quarantined, place: ManagedPath, *, reason: str) -> StepResult:
    """Write into the catalog that the content is at `place`; recovery enters here."""
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        states = {ReplicaState.RESTORING, ReplicaState.QUARANTINED, ReplicaState.QUARANTINING}
        writing.change_state(item.replica.replica_id, expected=states, to=ReplicaState.LIVE, relative=place.relative)
        writing.update_operation(item.operation.operation_id, state=JournalEvent.RESTORED)
        record(
            writing,
            workplace,
            AuditAction.RESTORE_DONE,
            artifact=item.artifact.name,
            path=place.absolute,
            size_bytes=item.replica.allocated_bytes,
            reason=reason,
            operation=item.operation.operation_id,
        )
    return StepResult(
        name=item.artifact.name,
        outcome=StepOutcome.RESTORED,
        operation=item.operation.operation_id,
        path=place.absolute,
        allocated_bytes=item.replica.allocated_bytes,
    )


def _refuse_catalogued_place(writing: Writing, item: Quarantined, place: ManagedPath) -> None:
    """Refuse a place at which, or around which, the catalog knows something else, before anything moves.

    Inside another artifact it would be a stray; what lay inside one before may go back there.
    """
    root_id = item.replica.root.root_id
    around = {outer.artifact_id: outer.name for outer in writing.artifacts_above(root_id, place.relative)}
    before = {outer.artifact_id for outer in writing.artifacts_above(root_id, item.replica.relative)}
    for artifact_id, name in around.items():
        if artifact_id not in before:
            raise Refused(
                f"{item.artifact.name} was not put back: {display_path(place.absolute)} lies inside {name}",
                remedy=f"`artifactctl quarantine restore {item.artifact.name} --to PATH` with a place outside of it",
            )
    other = writing.artifact_at(root_id, place.relative)
    mine = {item.replica.replica_id}
    if other is not None and any(
        r.relative == place.relative and r.replica_id not in mine and r.state is not ReplicaState.GONE
        for r in other.replicas
    ):
        raise Refused(
            f"{item.artifact.name} was not put back: the catalog knows {other.name} at {display_path(place.absolute)}",
            remedy=f"`artifactctl quarantine restore {item.artifact.name} --to PATH`, or scan if that one is gone",
        )


def _still_in_quarantine(workplace: Workplace, item: Quarantined, place: ManagedPath, outcome: PutBack) -> None:
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        expected = {ReplicaState.RESTORING}
        writing.change_state(item.replica.replica_id, expected=expected, to=ReplicaState.QUARANTINED)
        writing.update_operation(item.operation.operation_id, state=item.operation.state)
        record(
            writing,
            workplace,
            AuditAction.RESTORE_REFUSED,
            artifact=item.artifact.name,
            path=place.absolute,
            reason=_WHY[outcome],
            operation=item.operation.operation_id,
        )
