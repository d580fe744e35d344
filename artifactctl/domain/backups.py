"""Backups of the catalog: what one holds, and what it means to put it in the catalog's place."""

from collections.abc import Mapping
from dataclasses import dataclass

from artifactctl.domain.ledger import CatalogIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogBackup:
    """A copy of a catalog in one file, checked: the database is sound and its audit chain whole.

    `audit_head` is the hash of the last of `audit_events` events. `roots` are the names of the managed roots in it.
    """

    path: bytes
    identity: CatalogIdentity
    audit_events: int
    audit_head: str
    size_bytes: int
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCopy:
    """A catalog that was moved whole into another database. `rows` are counted by table, and compared with the source.

    `epoch` is that of the copy, which no root obeys before it is confirmed. `source` and `target` hold no password.
    """

    source: str
    target: str
    lineage_id: str
    epoch: int
    rows: Mapping[str, int]
    audit_events: int
    audit_head: str
    unreachable_roots: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentCatalog:
    """What a restore would replace. `identity` is None where it cannot be read: then `problem` says why.

    The counts are of what it knows and the backup does not.
    """

    path: bytes
    identity: CatalogIdentity | None
    problem: str = ""
    operations_since: int = 0
    holds_since: int = 0
    leases_in_force: int = 0
    roots_since: tuple[str, ...] = ()

    def is_older_than(self, other: CatalogIdentity) -> bool:
        """Whether it is an earlier state of the very same catalog; what cannot be read is never known to be."""
        mine = self.identity
        if mine is None or mine.lineage_id != other.lineage_id:
            return False
        return (mine.epoch, mine.revision) <= (other.epoch, other.revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRestore:
    """A restore that was done. `kept_at` is where the replaced catalog is now, None when there was none.

    `epoch` is above every epoch that is known: of the backup, of the replaced catalog, of the reachable roots' markers.
    """

    backup: CatalogBackup
    replaced: PresentCatalog | None
    kept_at: bytes | None
    epoch: int
    unreachable_roots: tuple[str, ...]
