"""A catalog that takes the place of another one, from a backup, is not trusted until a person confirms it.

Revision 0002, after 0001. Every catalog that is there already was made where it is, so it is confirmed.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the instant of the confirmation, in microseconds since 1970; empty means: not confirmed."""
    op.add_column("catalog_identity", sa.Column("lineage_confirmed_at", sa.BigInteger()))
    op.execute("UPDATE catalog_identity SET lineage_confirmed_at = created_at")


def downgrade() -> None:
    """Drop it. An unconfirmed catalog would be taken for a trusted one by the version before, so it is refused."""
    waiting = sa.text("SELECT count(*) FROM catalog_identity WHERE lineage_confirmed_at IS NULL")
    if op.get_bind().execute(waiting).scalar_one():
        raise RuntimeError(
            "this catalog waits for `artifactctl doctor --repair`; the version before knows no such wait"
        )
    op.drop_column("catalog_identity", "lineage_confirmed_at")
