"""The tables of copies in object stores, and of their members that were read back.

They are no replicas: they lie below no root, no machine looks at them, and nothing but `archived` counts.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table

from artifactctl.catalog.columns import Identifier, Instant, Words
from artifactctl.catalog.schema import metadata

archive_copy = Table(
    "archive_copy",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), nullable=False, index=True),
    Column("url", Words, nullable=False),
    Column("codec", String(16), nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("files", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("source_fingerprint", String(128), nullable=False),
    Column("content_digest", String(128), nullable=False),
    Column("manifest", String(128), nullable=False),
    Column("fingerprint", String(128), nullable=False),
    Column("begun_at", Instant, nullable=False),
    Column("verified_at", Instant),
)

archive_object = Table(
    "archive_object",
    metadata,
    Column("archive_id", Identifier, ForeignKey("archive_copy.id"), primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
    Column("stored_digest", String(64), nullable=False),
    Column("stored_bytes", BigInteger, nullable=False),
)
