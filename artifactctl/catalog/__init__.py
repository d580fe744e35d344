"""The catalog: what exists, where, from what, promised to whom.

One database, SQLite by default, PostgreSQL by its URL, reached through two context managers: `Catalog.reading()` is one
consistent look, `Catalog.writing(actor, now)` one short transaction. Rows never leave this package: `mapping` makes
values of the domain of them. Rows of artifacts, replicas and lineage are never deleted (invariant I7); triggers in the
database refuse it.

Whatever the database, writers take turns: a write transaction has the catalog to itself from its first statement to its
end, so what it read is still so when it commits (`sqlite`, `postgresql`). Readers see one state and wait for nobody.
Operators on several machines also prove, in each transaction, that they still hold the root they act on: `root_leases`.

Streams (`members`, `digests`, `audit.events`) belong to their `reading()` block and are consumed within it.
Beside a SQLite catalog lie its log, kept at full length, and a ballast: a full disk still takes small commits (I11).

Why not the ORM: its identity map would hide what a transaction really read, and rows are values here.
Why replicas change state by compare-and-set: whoever planned on an older look must notice, in the same transaction.
"""

from artifactctl.catalog.catalog import Catalog, create_or_upgrade, open_catalog, open_trial
from artifactctl.catalog.failures import (
    CatalogDamaged,
    CatalogFull,
    CatalogMissing,
    CatalogMoved,
    CatalogOutdated,
    CatalogTooNew,
    CatalogUnusable,
    CopyFailed,
    FileTaken,
    LastAdministrator,
    LeaseLost,
    LineageCycle,
    NameTaken,
    NotACatalog,
    PathTaken,
    RoleMissing,
    RootTakenOver,
    StateChanged,
    StepUsed,
    UnknownObject,
    UnsafeFilesystem,
)
from artifactctl.catalog.gate import Doorkeeper
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.writing import Writing

__all__ = [
    "Catalog",
    "CatalogDamaged",
    "CatalogFull",
    "CatalogMissing",
    "CatalogMoved",
    "CatalogOutdated",
    "CatalogTooNew",
    "CatalogUnusable",
    "CopyFailed",
    "Doorkeeper",
    "FileTaken",
    "LastAdministrator",
    "LeaseLost",
    "LineageCycle",
    "NameTaken",
    "NotACatalog",
    "PathTaken",
    "Reading",
    "RoleMissing",
    "RootTakenOver",
    "StateChanged",
    "StepUsed",
    "UnknownObject",
    "UnsafeFilesystem",
    "Writing",
    "create_or_upgrade",
    "open_catalog",
    "open_trial",
]
