"""The table of roles that were granted. A role that was revoked keeps its row, with who did and why."""

from sqlalchemy import Column, String, Table

from artifactctl.catalog.columns import Identifier, Instant, Words
from artifactctl.catalog.schema import metadata

role_grant = Table(
    "role_grant",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("role", String(16), nullable=False),
    Column("subject_kind", String(16), nullable=False),
    Column("subject", Words, nullable=False),
    Column("granted_by", Words, nullable=False),
    Column("granted_at", Instant, nullable=False),
    Column("reason", Words, nullable=False),
    Column("revoked_at", Instant),
    Column("revoked_by", Words, nullable=False),
    Column("revoke_reason", Words, nullable=False),
)
