"""Operations that a root's journal knows and this catalog does not: imported, so that they can be restored.

The journal decides where bytes are, the catalog what is permitted: what it did not order, it never purges.
"""

from artifactctl.catalog import Reading, StateChanged, Writing
from artifactctl.domain.artifacts import Artifact, ArtifactKind, Replica, ReplicaState, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.operations import JournalEvent, OperationRecord
from artifactctl.reclaim.workplace import Workplace, record

IMPORTED_BY_NOBODY = ""
"""The plan digest of an imported operation: no plan of this catalog stands behind it."""


def strangers(workplace: Workplace, root: Root) -> tuple[OperationRecord, ...]:
    """Return what lies in quarantine below the root without this catalog having ordered it."""
    with workplace.catalog.reading() as reading:
        return tuple(
            found
            for found in workplace.host.operations(root)
            if found.in_quarantine and not found.in_purging and reading.operation(found.operation) is None
        )


def import_operation(workplace: Workplace, root: Root, found: OperationRecord) -> str:
    """Record one of them with a replica in quarantine; returns the name it was given."""
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        artifact, replica = _known_copy(writing, root, found) or _new_copy(writing, workplace, root, found)
        _add(writing, workplace, root, found, artifact, replica)
    return artifact.name


def _add(
    writing: Writing, workplace: Workplace, root: Root, found: OperationRecord, artifact: Artifact, replica: Replica
) -> None:
    writing.add_operation(
        found.operation,
        replica.replica_id,
        state=found.event,
        plan_digest=IMPORTED_BY_NOBODY,
        reason="imported from the root's journal",
        placed=found.placed,
        fingerprint=found.fingerprint,
    )
    record(
        writing,
        workplace,
        AuditAction.OPERATION_IMPORT,
        artifact=artifact.name,
        path=root.path.rstrip(b"/") + b"/" + found.original,
        size_bytes=found.allocated_bytes,
        reason="found in the root's journal",
        operation=found.operation,
    )


def purged_elsewhere(workplace: Workplace, root: Root) -> tuple[OperationRecord, ...]:
    """Return finished purges that this catalog did not order, of copies that it takes to be at their places.

    Only where nothing is there now and the content that was purged is the content that it knows.
    """
    with workplace.catalog.reading() as reading:
        return tuple(
            found
            for found in workplace.host.operations(root)
            if found.event is JournalEvent.PURGED
            and not (found.at_original or found.in_quarantine or found.in_purging)
            and reading.operation(found.operation) is None
            and _purged_copy(reading, root, found) is not None
        )


def import_purge(workplace: Workplace, root: Root, found: OperationRecord) -> str:
    """Record that such a copy is gone, and by which operation; returns the artifact's name."""
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        known = _purged_copy(writing, root, found)
        if known is None:
            raise StateChanged(f"{found.name} is not known at its place any more", remedy="artifactctl doctor")
        artifact, replica = known
        expected = {ReplicaState.LIVE, ReplicaState.MISSING}
        writing.change_state(replica.replica_id, expected=expected, to=ReplicaState.GONE)
        _add(writing, workplace, root, found, artifact, replica)
    return artifact.name


def _purged_copy(reading: Reading, root: Root, found: OperationRecord) -> tuple[Artifact, Replica] | None:
    artifact = reading.artifact_at(root.root_id, found.original, states=(ReplicaState.LIVE, ReplicaState.MISSING))
    for replica in artifact.replicas if artifact is not None else ():
        same_place = replica.root.root_id == root.root_id and replica.relative == found.original
        if same_place and replica.fingerprint == found.fingerprint and artifact is not None:
            return artifact, replica
    return None


def _known_copy(writing: Writing, root: Root, found: OperationRecord) -> tuple[Artifact, Replica] | None:
    """Return the copy that this catalog believes to be live where the operation took something away, set aside now."""
    artifact = writing.artifact_at(root.root_id, found.original)
    for replica in artifact.replicas if artifact is not None else ():
        if replica.root.root_id == root.root_id and replica.relative == found.original and artifact is not None:
            expected = {ReplicaState.LIVE, ReplicaState.MISSING}
            writing.change_state(replica.replica_id, expected=expected, to=ReplicaState.QUARANTINED)
            return artifact, replica
    return None


def _new_copy(writing: Writing, workplace: Workplace, root: Root, found: OperationRecord) -> tuple[Artifact, Replica]:
    artifact = writing.add_artifact(_free_name(writing, found), ArtifactKind.OTHER)
    replica = writing.add_replica(
        artifact.artifact_id,
        root.root_id,
        found.original,
        is_directory=True,
        files=0,
        apparent_bytes=0,
        allocated_bytes=found.allocated_bytes,
        member_digest="",
        fingerprint=found.fingerprint,
        observed_at=workplace.clock(),
        state=ReplicaState.QUARANTINED,
    )
    return artifact, replica


def _free_name(writing: Writing, found: OperationRecord) -> str:
    taken = writing.artifacts_named_ever(found.name)
    return found.name if not taken else f"{found.name} ({found.operation})"
