"""The division of an artifact that several workers make, and who has which share.

Revision 0010, after 0009. A share's row stays when it is finished: it says what is missing in it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

IDENTIFIER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the two tables."""
    op.create_table(
        "division",
        sa.Column("artifact_id", IDENTIFIER, autoincrement=False, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("shares", sa.BigInteger(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["artifact_id"], ["artifact.id"], name="fk_division_artifact_id_artifact"),
        sa.PrimaryKeyConstraint("artifact_id", name="pk_division"),
    )
    op.create_table(
        "share",
        sa.Column("artifact_id", IDENTIFIER, autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger()),
        sa.Column("pid_started", sa.Text(), nullable=False),
        sa.Column("claimed_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("records", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("rejected", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["artifact_id"], ["division.artifact_id"], name="fk_share_artifact_id_division"),
        sa.PrimaryKeyConstraint("artifact_id", "number", name="pk_share"),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("share")
    op.drop_table("division")
