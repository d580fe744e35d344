"""How long the machine had been up when something was set aside, and by which ssh keys a machine can be known again.

Revision 0009, after 0008. What was set aside before has no uptime: only the clocks speak of it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the machine, its boot and the microseconds since that boot; and the public keys of a machine's own sshd."""
    op.add_column("operation", sa.Column("aside_machine_id", sa.Text()))
    op.add_column("operation", sa.Column("aside_boot_id", sa.Text()))
    op.add_column("operation", sa.Column("aside_uptime_us", sa.BigInteger()))
    op.add_column("host", sa.Column("own_keys", sa.Text()))


def downgrade() -> None:
    """Drop them: the version before goes by the clocks alone, and takes such a machine for two."""
    op.drop_column("host", "own_keys")
    for name in ("aside_uptime_us", "aside_boot_id", "aside_machine_id"):
        op.drop_column("operation", name)
