"""The tables of machines and places, and the catalog's own identity.

Every table of the catalog hangs on `metadata`; `schema_artifacts` and `schema_work` add theirs. Rows are never deleted
(the migration installs triggers that say so); what is over is marked with the instant at which it ended.
"""

from sqlalchemy import BigInteger as Bytes
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
)

from artifactctl.catalog.columns import Identifier, Instant, JsonText, Key, Words

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

catalog_identity = Table(
    "catalog_identity",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("lineage_id", String(36), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("revision", Identifier, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("written_at", Instant, nullable=False),
    Column("lineage_confirmed_at", Instant),
    # Where the catalog went when it was copied as a whole: from then on it takes no more changes here.
    Column("moved_to", Words),
    CheckConstraint("id = 1", name="one_row"),
)

host = Table(
    "host",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("name", Words, nullable=False, unique=True),
    Column("machine_id", String(64), nullable=False),
    Column("address", Words, nullable=False),
    Column("host_key", Words, nullable=False),
    Column("uses_sudo", Boolean, nullable=False),
    Column("added_at", Instant, nullable=False),
    Column("forgotten_at", Instant),
    Column("own_keys", JsonText),
)

volume = Table(
    "volume",
    metadata,
    Column("filesystem_uuid", Key(64), primary_key=True),
    Column("host_id", Identifier, ForeignKey("host.id"), primary_key=True),
    Column("mount", LargeBinary, nullable=False),
    Column("filesystem_type", String(32), nullable=False),
    Column("device", Words, nullable=False),
    Column("size_bytes", Bytes, nullable=False),
    Column("seen_at", Instant, nullable=False),
)

root = Table(
    "root",
    metadata,
    Column("id", Key(64), primary_key=True),
    Column("name", Words, nullable=False),
    Column("host_id", Identifier, ForeignKey("host.id"), nullable=False),
    Column("path", LargeBinary, nullable=False),
    Column("filesystem_uuid", Key(64), nullable=False, index=True),
    Column("filesystem_type", String(32), nullable=False),
    Column("inode", Bytes, nullable=False),
    Column("attestation", Words, nullable=False),
    Column("added_at", Instant, nullable=False),
    Column("forgotten_at", Instant),
)
# The migration states the condition for PostgreSQL too; stating it here would import that dialect at every start.
Index("uq_root_name_in_use", root.c.name, unique=True, sqlite_where=root.c.forgotten_at.is_(None))

# Who holds the right to change what lies below a root. The fence grows each time somebody takes it, and never shrinks.
root_lease = Table(
    "root_lease",
    metadata,
    Column("root_id", String(64), ForeignKey("root.id"), primary_key=True),
    Column("fence", Bytes, nullable=False),
    Column("machine_id", Words, nullable=False),
    Column("holder", Words, nullable=False),
    Column("taken_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("released_at", Instant),
)
