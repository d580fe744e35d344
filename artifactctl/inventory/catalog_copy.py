"""Moving a catalog whole into another database: from SQLite to PostgreSQL, back, or between two of a kind.

1. Take the writers' turn of the catalog, so that nothing is written while it is copied, and audit the move in it.
2. Fill the empty target with every row, compare what arrived, raise its epoch above every known one, take its
   confirmation away, audit where it came from, verify the whole chain, commit.
3. Record in the old catalog where it went, and commit: from here it takes no more changes.

A crash before the end of 2 leaves an empty target. One between 2 and 3 leaves the old catalog in force and a copy that
no root obeys. The roots' markers name the old epoch until a person confirms the new catalog, machine by machine, with
`artifactctl doctor --repair`: so each root has one catalog in charge of it at any time.
"""

from collections.abc import Sequence

from artifactctl import audit
from artifactctl.audit.schema import metadata as audit_metadata
from artifactctl.catalog import Catalog
from artifactctl.catalog.location import parse_location
from artifactctl.catalog.moving import filled, keep_waiting
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.domain.backups import CatalogCopy
from artifactctl.domain.errors import CheckFailed, UsageError
from artifactctl.domain.roles import Act
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.epochs import RootEpochs, epochs_on
from artifactctl.inventory.targets import local_roots


def move_catalog(
    host: Host,
    catalog: Catalog,
    location: str,
    *,
    reason: str,
    acting: Acting,
    elsewhere: Sequence[RootEpochs] = (),
) -> CatalogCopy:
    """Carry out steps 1 to 3; takes a role. TargetTaken when the target holds anything, Busy when somebody writes.

    `elsewhere` is what the roots of other machines say.
    """
    shown = parse_location(location).shown
    if shown == catalog.location:
        raise UsageError(f"{shown} is the catalog itself", remedy="name an empty database or a new file")
    with catalog.writing(acting.actor, acting.now) as moving:
        moving.require(Act.REPLACE_CATALOG, about=shown)  # now, before the copy is committed elsewhere
        keep_waiting(moving)
        before = moving.identity()
        epochs, unreachable = epochs_on(host, local_roots(host, moving), before.lineage_id)
        epoch = max((before.epoch, *epochs, *(epoch for each in elsewhere for epoch in each.epochs))) + 1
        said = acting.entry(AuditAction.CATALOG_MOVE, reason=reason, evidence={"to": shown, "epoch": epoch})
        audit.append(moving.connection, said)
        with filled(moving, location, also=audit_metadata.sorted_tables, actor=acting.actor, now=acting.now) as there:
            there.writing.raise_epoch(epoch)
            evidence: JsonValue = {"from": catalog.location, "epoch": epoch, "rows": there.counts}
            audit.append(
                there.writing.connection, acting.entry(AuditAction.CATALOG_COPY, reason=reason, evidence=evidence)
            )
            proof = audit.verify(there.writing.connection)
            if not proof.ok:
                raise CheckFailed(
                    f"the audit chain of {catalog.location} is not whole, so nothing was copied: {proof.problem}",
                    remedy="`artifactctl audit verify` says where; an earlier backup may be whole",
                )
        moving.move(shown)
    return CatalogCopy(
        source=catalog.location,
        target=shown,
        lineage_id=before.lineage_id,
        epoch=epoch,
        rows=there.counts,
        audit_events=proof.events,
        audit_head=proof.head,
        unreachable_roots=(*unreachable, *(name for each in elsewhere for name in each.unreachable)),
    )
