"""Backing the catalog up into one file, which is there only once it was checked.

A backup is a SQLite file whatever the catalog is kept in, so that it can be looked at and copied anywhere.
"""

import os
from pathlib import Path

from artifactctl import audit
from artifactctl.audit.schema import metadata as audit_metadata
from artifactctl.catalog import Catalog
from artifactctl.catalog.backups import bring_up, copy_whole, reading_copy
from artifactctl.catalog.failures import CopyFailed
from artifactctl.catalog.moving import filled
from artifactctl.catalog.publishing import partial_file, publish_new, taken
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.domain.backups import CatalogBackup
from artifactctl.domain.errors import CheckFailed
from artifactctl.inventory.acting import Acting


def back_up(catalog: Catalog, to: bytes, *, acting: Acting) -> CatalogBackup:
    """Copy the catalog to the new file `to` while others may write; FileTaken when something is there already.

    That a backup was made is audited, with the head of the chain it holds: kept elsewhere, it proves the chain.
    """
    final = Path(os.fsdecode(to))
    if os.path.lexists(final):
        raise taken(final)
    try:
        with partial_file(final) as partial:
            _copy(catalog, partial, acting=acting)
            backup = describe_copy(partial, named=to)
            publish_new(partial, final)
    except OSError as error:
        raise CopyFailed(
            f"{final} could not be written: {error.strerror}", remedy="name a file in a folder that you can write to"
        ) from error
    with catalog.writing(acting.actor, acting.now) as writing:
        evidence: JsonValue = {
            "epoch": backup.identity.epoch,
            "revision": backup.identity.revision,
            "audit_events": backup.audit_events,
            "audit_head": backup.audit_head,
        }
        entry = acting.entry(AuditAction.CATALOG_BACKUP, path=to, size_bytes=backup.size_bytes, evidence=evidence)
        audit.append(writing.connection, entry)
    return backup


def _copy(catalog: Catalog, partial: Path, *, acting: Acting) -> None:
    """Write the catalog as one file: a copy of the file it is, or every row of what is on a server."""
    if catalog.file is not None:
        copy_whole(catalog.file, partial)
        return
    tables = audit_metadata.sorted_tables
    with catalog.reading() as reading, filled(reading, partial, also=tables, actor=acting.actor, now=acting.now):
        pass
    bring_up(partial)


def describe_copy(copy: Path, *, named: bytes) -> CatalogBackup:
    """Return what a copy holds; CheckFailed when its audit chain is not whole."""
    with reading_copy(copy) as reading:
        proof = audit.verify(reading.connection)
        identity = reading.identity()
        roots = tuple(root.name for root in reading.roots())
    if not proof.ok:
        raise CheckFailed(
            f"the audit chain in the copy for {os.fsdecode(named)} is not whole: {proof.problem}",
            remedy="`artifactctl audit verify` looks at the catalog itself; an earlier backup may be whole",
        )
    return CatalogBackup(
        path=named,
        identity=identity,
        audit_events=proof.events,
        audit_head=proof.head,
        size_bytes=copy.stat().st_size,
        roots=roots,
    )
