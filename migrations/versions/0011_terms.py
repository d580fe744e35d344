"""Where the uptime of the machine that made a promise will stand when the promise ends.

Revision 0011, after 0010. Of leases and reservations made before, only the clocks say when they are over.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the boot and the microseconds since that boot."""
    for table in ("lease", "reservation"):
        op.add_column(table, sa.Column("ends_boot_id", sa.Text()))
        op.add_column(table, sa.Column("ends_uptime_us", sa.BigInteger()))


def downgrade() -> None:
    """Drop them: the version before goes by the clocks alone."""
    for table in ("reservation", "lease"):
        for name in ("ends_uptime_us", "ends_boot_id"):
            op.drop_column(table, name)
