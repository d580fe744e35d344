"""Making a copy of a live artifact in another root: the steps of the package, in their order."""

from artifactctl.archiving.destination import require_free
from artifactctl.archiving.making import begin, begun_before, fill, put_in_place
from artifactctl.archiving.pieces import pieces_of_replica
from artifactctl.archiving.promises import kept_while_copying
from artifactctl.archiving.source import Source, examine, require_unchanged
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.artifacts import Artifact, Replica, Root, VerifyLevel
from artifactctl.domain.audit import JsonValue
from artifactctl.domain.roles import Act
from artifactctl.inventory.targets import Target
from artifactctl.report.archive import CopyMade, origin_of


def archive_to_root(work: ArchivingWork, artifact: Artifact, replica: Replica, destination: Target) -> CopyMade:
    """Copy a live replica to a place below a root; the copy is live and verified when it returns, unless it stopped.

    What an earlier run of the same copy left is gone on with when the source is still the same.
    """
    require_role(work, artifact)
    require_free(work, artifact, replica, destination)
    source = examine(work, artifact, replica)
    begun = begun_before(work, source, destination)
    began_at = work.elapsed_clock()
    size_bytes = source.size_bytes - (begun.done_bytes if begun else 0)
    with kept_while_copying(work, source, destination.root, size_bytes=size_bytes) as kept:
        operation = begun.operation if begun else begin(work, source, destination)
        pieces = pieces_of_replica(work, source)
        copied = fill(work, source, destination.root, operation, kept, pieces=pieces)
        if not copied.stopped:
            require_unchanged(work, source)
            seconds = round(work.elapsed_clock() - began_at, 3)
            facts = {"seconds": seconds, **hosts_between(work, replica, destination.root)}
            put_in_place(work, source, destination, operation, copied, facts=facts)
            _record_what_was_read(work, source)
    return CopyMade(
        name=artifact.name,
        source=work.place(replica.root, replica.relative),
        destination=work.place(destination.root, destination.relative),
        size_bytes=source.size_bytes,
        sent_bytes=copied.sent_bytes,
        files=len(source.files),
        seconds=work.elapsed_clock() - began_at,
        origin=origin_of(copied.from_device),
        is_verified=not copied.stopped,
        same_volume=destination.root.filesystem_uuid == replica.root.filesystem_uuid,
    )


def _record_what_was_read(work: ArchivingWork, source: Source) -> None:
    """Note that the original has the digests its copy has: then no clock decides whether it changed since."""
    with work.catalog.writing(work.actor, work.clock()) as writing:
        writing.set_verified(source.replica.replica_id, VerifyLevel.DIGESTS, source.fingerprint, ok=True)


def require_role(work: ArchivingWork, artifact: Artifact) -> None:
    """Refuse, audited, who may make no copies, before anything is written or any byte is read."""
    work.catalog.require(Act.COPY, work.actor, work.clock(), about=artifact.name)


def hosts_between(work: ArchivingWork, replica: Replica, root: Root | None) -> dict[str, JsonValue]:
    """Return from which machine the bytes came, and whether they left it: `leave` measures by that."""
    with work.catalog.reading() as reading:
        known = reading.host(replica.root.host_id)
    left = root is None or root.host_id != replica.root.host_id
    return {"from_host": "" if known is None else known.name, "left_host": left}
