"""Carrying out what `recovery` decides: for `doctor --repair`, and before any command acts on a root.

A second recovery changes nothing: every action ends in a journal event and a catalog state for which the table says
`nothing`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Replica, ReplicaState, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.ledger import Operation
from artifactctl.domain.operations import FINISHED, JournalEvent, OperationRecord
from artifactctl.hosts.protocol import PutBack, RootLock
from artifactctl.reclaim.purging import finish_purge
from artifactctl.reclaim.quarantined import Quarantined
from artifactctl.reclaim.recovery import Action, Step, decide
from artifactctl.reclaim.second_look import second_look
from artifactctl.reclaim.workplace import Workplace, record

NEEDS_A_PERSON = frozenset({Action.GIVE_UP_LOST, Action.REPORT_FOREIGN})
"""What recovery leaves alone until somebody has looked."""

_STATE_AFTER: Mapping[JournalEvent, ReplicaState] = {
    JournalEvent.QUARANTINED: ReplicaState.QUARANTINED,
    JournalEvent.KEPT: ReplicaState.QUARANTINED,
    JournalEvent.RESTORED: ReplicaState.LIVE,
    JournalEvent.ABANDONED: ReplicaState.LIVE,
    JournalEvent.PURGED: ReplicaState.GONE,
    JournalEvent.LOST: ReplicaState.MISSING,
}
_IN_BETWEEN = frozenset(
    {ReplicaState.QUARANTINING, ReplicaState.QUARANTINED, ReplicaState.RESTORING, ReplicaState.PURGING}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """One operation that is not where its journal or the catalog says it ended, and what will be done about it."""

    root: Root
    found: OperationRecord
    step: Step
    known: Operation | None
    lags: bool


def unfinished(workplace: Workplace, root: Root) -> tuple[Unfinished, ...]:
    """Return every operation of the root that needs an action, or that the catalog lags behind; changes nothing."""
    items = []
    with workplace.catalog.reading() as reading:
        for found in workplace.host.operations(root):
            known = reading.operation(found.operation)
            lags = known is not None and _lags(reading, known, found)
            step = decide(found, lags=lags)
            settled = known is not None and known.state in FINISHED and found.event not in _STATE_AFTER and not lags
            if (step.action is not Action.NOTHING and not settled) or lags:
                items.append(Unfinished(root=root, found=found, step=step, known=known, lags=lags))
    return tuple(items)


def _lags(reading: Reading, known: Operation, found: OperationRecord) -> bool:
    """Whether the journal knows an end that the catalog does not."""
    if found.event not in _STATE_AFTER or known.state is found.event:
        return False
    latest = max(
        reading.operations(artifact_id=known.artifact_id), key=lambda item: (item.started_at, item.operation_id)
    )
    return latest.operation_id == known.operation_id


def recover_root(
    workplace: Workplace, root: Root, *, lock: RootLock, leaving: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Bring every unfinished operation of the root to an end; returns one sentence for each.

    What needs a person's word is told and left; so are the begun purges among `leaving`, which the caller completes.
    """
    del lock  # the caller holds it; asking for it here keeps anybody from calling without
    sentences = []
    for item in unfinished(workplace, root):
        if item.step.action is Action.COMPLETE_PURGE and item.found.operation in leaving:
            continue
        if item.step.action in NEEDS_A_PERSON:
            workplace.say(f"nothing was done: {item.step.sentence}")
            continue
        _ACTIONS[item.step.action](workplace, item)
        sentences.append(item.step.sentence)
        workplace.say(f"recovered {item.step.sentence}")
    return tuple(sentences)


def give_up_lost(workplace: Workplace, root: Root, operations: Collection[str], *, lock: RootLock) -> tuple[str, ...]:
    """Close those operations that are still found nowhere: their copies are missing, never gone (invariant I7).

    A person has confirmed it. Returns one sentence for each.
    """
    del lock
    sentences = []
    for item in unfinished(workplace, root):
        if item.step.action is Action.GIVE_UP_LOST and item.found.operation in operations:
            workplace.host.give_up(root, item.found.operation, "a person confirmed that it is lost")
            _bring_in_line(workplace, item, JournalEvent.LOST)
            sentences.append(
                f"{item.step.sentence}; recorded as missing, `artifactctl scan {root.name}` finds it again"
            )
    return tuple(sentences)


_TOLD = {
    JournalEvent.QUARANTINED: AuditAction.RECOVER_QUARANTINE,
    JournalEvent.KEPT: AuditAction.RECOVER_KEEP,
    JournalEvent.RESTORED: AuditAction.RECOVER_RESTORE,
    JournalEvent.PURGED: AuditAction.RECOVER_PURGE,
    JournalEvent.ABANDONED: AuditAction.RECOVER_ABANDON,
    JournalEvent.LOST: AuditAction.RECOVER_LOST,
}


def _bring_in_line(
    workplace: Workplace, item: Unfinished, event: JournalEvent, *, relative: bytes | None = None
) -> None:
    """Write the state that follows from `event` into the catalog, with its audit event."""
    known = item.known
    since = workplace.host.uptime()
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        if known is not None:
            writing.update_operation(known.operation_id, state=event, aside_since=since)
            replica = _replica(writing, known)
            if replica is not None and replica.state in _IN_BETWEEN and replica.state is not _STATE_AFTER[event]:
                if event is JournalEvent.RESTORED and replica.state is ReplicaState.QUARANTINING:
                    aside = ReplicaState.QUARANTINED  # it was away: the generation shows it
                    writing.change_state(replica.replica_id, expected=_IN_BETWEEN, to=aside)
                writing.change_state(
                    replica.replica_id, expected=_IN_BETWEEN, to=_STATE_AFTER[event], relative=relative
                )
        record(
            writing,
            workplace,
            _TOLD[event],
            artifact=item.found.name,
            path=item.root.path.rstrip(b"/") + b"/" + (relative or item.found.original),
            size_bytes=item.found.allocated_bytes,
            reason=item.step.sentence,
            operation=item.found.operation,
        )


def _replica(reading: Reading, known: Operation) -> Replica | None:
    artifact = reading.artifact_by_id(known.artifact_id)
    replicas = artifact.replicas if artifact is not None else ()
    return next((r for r in replicas if r.replica_id == known.replica_id), None)


def _nothing(workplace: Workplace, item: Unfinished) -> None:
    _bring_in_line(workplace, item, item.found.event, relative=item.found.restored_to or None)


def _abandon(workplace: Workplace, item: Unfinished) -> None:
    workplace.host.abandon(item.root, item.found.operation, "recovered: never set aside")
    _bring_in_line(workplace, item, JournalEvent.ABANDONED)


def _look_again(workplace: Workplace, item: Unfinished) -> None:
    host, operation = workplace.host, item.found.operation
    if item.found.event is JournalEvent.INTENDED:
        host.set_aside(item.root, operation)  # the rename is done; it fsyncs both parents and journals that
    with workplace.catalog.reading() as reading:
        replica = _replica(reading, item.known) if item.known is not None else None
    in_use = replica is None or bool(second_look(workplace, replica, operation, item.found.fingerprint))
    if not in_use:
        host.confirm(item.root, operation)
        _bring_in_line(workplace, item, JournalEvent.QUARANTINED)
        return
    if host.put_back(item.root, operation, to=None, reason="recovered: in use or changed") is PutBack.DONE:
        _bring_in_line(workplace, item, JournalEvent.RESTORED)
        return
    host.keep(item.root, operation, "recovered: in use, and its old path is taken")
    _bring_in_line(workplace, item, JournalEvent.KEPT)


def _back_to_quarantine(workplace: Workplace, item: Unfinished) -> None:
    if item.found.was_kept:
        workplace.host.keep(item.root, item.found.operation, "recovered: it was in use when it was set aside")
        _bring_in_line(workplace, item, JournalEvent.KEPT)
        return
    workplace.host.confirm(item.root, item.found.operation)
    _bring_in_line(workplace, item, JournalEvent.QUARANTINED)


def _finish_restore(workplace: Workplace, item: Unfinished) -> None:
    place = item.found.restored_to or item.found.original
    to = ManagedPath(root=item.root.path, relative=place)
    outcome = workplace.host.put_back(item.root, item.found.operation, to=to, reason="recovered: restore interrupted")
    if outcome is PutBack.DONE:
        _bring_in_line(workplace, item, JournalEvent.RESTORED, relative=place)
        return
    _back_to_quarantine(workplace, item)


def _record_restored(workplace: Workplace, item: Unfinished) -> None:
    place = item.found.restored_to or item.found.original
    to = ManagedPath(root=item.root.path, relative=place)
    workplace.host.put_back(item.root, item.found.operation, to=to, reason=item.step.sentence)  # journals it
    _bring_in_line(workplace, item, JournalEvent.RESTORED, relative=place)


def _complete_purge(workplace: Workplace, item: Unfinished) -> None:
    if item.found.event not in (JournalEvent.PURGING, JournalEvent.PURGED):
        workplace.host.begin_purge(item.root, item.found.operation)  # the rename is done; it journals that
    with workplace.catalog.reading() as reading:
        artifact = reading.artifact_by_id(item.known.artifact_id) if item.known is not None else None
        replica = _replica(reading, item.known) if item.known is not None else None
    if (
        artifact is not None
        and replica is not None
        and item.known is not None
        and replica.state is ReplicaState.PURGING
    ):
        known = Quarantined(operation=item.known, artifact=artifact, replica=replica)
        result = finish_purge(workplace, known, reason=item.step.sentence)
        if result.detail:
            workplace.say(f"{artifact.name}: {result.detail}")
        return
    if workplace.host.purge(item.root, item.found.operation, should_stop=workplace.should_stop).complete:
        _bring_in_line(workplace, item, JournalEvent.PURGED)


_ACTIONS: Mapping[Action, Callable[[Workplace, Unfinished], None]] = {
    Action.NOTHING: _nothing,
    Action.ABANDON: _abandon,
    Action.SECOND_LOOK: _look_again,
    Action.BACK_TO_QUARANTINE: _back_to_quarantine,
    Action.FINISH_RESTORE: _finish_restore,
    Action.RECORD_RESTORED: _record_restored,
    Action.COMPLETE_PURGE: _complete_purge,
}
