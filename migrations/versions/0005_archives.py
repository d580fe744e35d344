"""Copies of artifacts in object stores.

Revision 0005, after 0004. Their rows stay, like those of every copy; what was read back of them is never changed.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

IDENTIFIER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the two tables and their triggers."""
    op.create_table(
        "archive_copy",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("artifact_id", IDENTIFIER, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("codec", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("source_fingerprint", sa.String(128), nullable=False),
        sa.Column("content_digest", sa.String(128), nullable=False),
        sa.Column("manifest", sa.String(128), nullable=False),
        sa.Column("fingerprint", sa.String(128), nullable=False),
        sa.Column("begun_at", sa.BigInteger(), nullable=False),
        sa.Column("verified_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["artifact_id"], ["artifact.id"], name="fk_archive_copy_artifact_id_artifact"),
        sa.PrimaryKeyConstraint("id", name="pk_archive_copy"),
    )
    op.create_index("ix_archive_copy_artifact_id", "archive_copy", ["artifact_id"])
    op.create_index("ix_archive_copy_state", "archive_copy", ["state"])
    op.create_table(
        "archive_object",
        sa.Column("archive_id", IDENTIFIER, autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("stored_digest", sa.String(64), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["archive_id"], ["archive_copy.id"], name="fk_archive_object_archive_id_archive_copy"),
        sa.PrimaryKeyConstraint("archive_id", "number", name="pk_archive_object"),
    )
    _refuse("archive_copy", "DELETE")
    _refuse("archive_object", "DELETE")
    _refuse("archive_object", "UPDATE")


def downgrade() -> None:
    """Drop them; the triggers go with them."""
    op.drop_table("archive_object")
    op.drop_table("archive_copy")


def _refuse(table: str, change: str) -> None:
    """Let the database itself refuse the change; on PostgreSQL by the function that 0001 made."""
    name = f"{table}_no_{change.lower()}"
    message = f"rows of {table} are never {'deleted' if change == 'DELETE' else 'changed'}"
    if op.get_bind().dialect.name == "sqlite":
        op.execute(f"CREATE TRIGGER {name} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, '{message}'); END")
    else:
        op.execute(f"CREATE TRIGGER {name} BEFORE {change} ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_change()")
