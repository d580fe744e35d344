"""The tables of artifacts: their copies, their members, what they came from, and what was seen and measured."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
)

from artifactctl.catalog.columns import Identifier, Instant, JsonText, Words
from artifactctl.catalog.schema import metadata

artifact = Table(
    "artifact",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("name", Words, nullable=False),
    # 0: holds its name. Else its own id: every copy was gone when a newer artifact took the name.
    Column("name_passed_on", Identifier, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("tokens", BigInteger),
    Column("records", BigInteger),
    Column("content_digest", String(128), nullable=False),
    Column("sealed", Boolean, nullable=False),
    Column("superseded_by_id", Identifier, ForeignKey("artifact.id")),
    Column("member_list_id", Identifier, ForeignKey("member_list.id")),
    Column("labels", JsonText, nullable=False),
    Column("details", JsonText, nullable=False),
    UniqueConstraint("name", "name_passed_on"),
)

replica = Table(
    "replica",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), nullable=False, index=True),
    Column("root_id", String(64), ForeignKey("root.id"), nullable=False),
    Column("relative", LargeBinary, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("generation", Integer, nullable=False),
    Column("is_directory", Boolean, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("apparent_bytes", BigInteger, nullable=False),
    Column("allocated_bytes", BigInteger, nullable=False),
    Column("member_digest", String(128), nullable=False),
    Column("fingerprint", String(128), nullable=False),
    Column("observed_at", Instant, nullable=False),
    Column("verified_at", Instant),
    Column("verified_level", String(16)),
    Column("verified_fingerprint", String(128), nullable=False),
    Index(None, "root_id", "relative"),
)
Index(
    "uq_replica_at_its_path",
    replica.c.root_id,
    replica.c.relative,
    unique=True,
    sqlite_where=replica.c.state.in_(("building", "live")),
)

# A list of members is filled in short transactions and then adopted by its artifact in one. A list that no artifact
# points to is not history but waste: a later list replaced it, or an interrupted scan left it behind. These rows go.
# `members` is their number once the list is complete.
member_list = Table(
    "member_list",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("begun_at", Instant, nullable=False),
    Column("members", BigInteger),
)

shard_directory = Table(
    "shard_directory",
    metadata,
    Column("id", Identifier, primary_key=True, autoincrement=False),
    Column("list_id", Identifier, ForeignKey("member_list.id"), nullable=False),
    Column("relative", LargeBinary, nullable=False),
    UniqueConstraint("list_id", "relative"),
)

# One row a member, below 96 bytes each: the folder's path is stored once, the key is the row. There is no foreign key
# to the folder since checking it costs a fifth of the ingest rate, and both are written by one function.
shard = Table(
    "shard",
    metadata,
    Column("directory_id", Identifier, primary_key=True, autoincrement=False),
    Column("name", LargeBinary, primary_key=True),
    Column("type", SmallInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("tokens", BigInteger),
    Column("digest", LargeBinary),
    sqlite_with_rowid=False,
)

lineage_edge = Table(
    "lineage_edge",
    metadata,
    Column("child_id", Identifier, ForeignKey("artifact.id"), primary_key=True),
    Column("parent_id", Identifier, ForeignKey("artifact.id"), primary_key=True),
    Column("role", String(32), primary_key=True),
    Column("recorded_at", Instant, nullable=False),
    Column("recorded_by", Words, nullable=False),
    Index(None, "parent_id", "child_id"),
    sqlite_with_rowid=False,
)

verification = Table(
    "verification",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("replica_id", Identifier, ForeignKey("replica.id"), nullable=False, index=True),
    Column("level", String(16), nullable=False),
    Column("ok", Boolean, nullable=False),
    Column("problems", JsonText, nullable=False),
    Column("fingerprint", String(128), nullable=False),
    Column("verified_at", Instant, nullable=False),
)

observation = Table(
    "observation",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("replica_id", Identifier, ForeignKey("replica.id"), nullable=False, index=True),
    Column("observed_at", Instant, nullable=False),
    Column("summary", JsonText, nullable=False),
)

measurement = Table(
    "measurement",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), nullable=False, index=True),
    Column("metric", Words, nullable=False),
    Column("value", Float, nullable=False),
    Column("source", Words, nullable=False),
    Column("measured_at", Instant, nullable=False),
)
