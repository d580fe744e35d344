"""Machines that are not worked with any more.

Revision 0008, after 0005. Their rows stay: what was done on them names them for ever.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the instant from which a machine is forgotten, in microseconds since 1970; empty: it is not."""
    op.add_column("host", sa.Column("forgotten_at", sa.BigInteger()))


def downgrade() -> None:
    """Drop it: the version before knows every machine again."""
    op.drop_column("host", "forgotten_at")
