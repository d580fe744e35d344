"""The tables of work that is divided: one row an artifact that several workers make, one row a share they claimed."""

from sqlalchemy import BigInteger, Column, ForeignKey, Table

from artifactctl.catalog.columns import Identifier, Instant, JsonText, Words
from artifactctl.catalog.schema import metadata

division = Table(
    "division",
    metadata,
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), primary_key=True, autoincrement=False),
    Column("fingerprint", JsonText, nullable=False),
    Column("shares", BigInteger, nullable=False),
    Column("made_at", Instant, nullable=False),
)

# The fence grows with every claim of the share: what a late holder writes under an older one counts for nothing.
share = Table(
    "share",
    metadata,
    Column("artifact_id", Identifier, ForeignKey("division.artifact_id"), primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("fence", BigInteger, nullable=False),
    Column("owner", Words, nullable=False),
    Column("host", Words, nullable=False),
    Column("pid", BigInteger),
    Column("pid_started", Words, nullable=False),
    Column("claimed_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("finished_at", Instant),
    Column("records", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("rejected", JsonText, nullable=False),
)
