"""Roles that are granted, and whom the catalog saw planning and approving.

Revision 0004, after 0003. No role is recorded at first, so everybody who can open the catalog may do everything.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

IDENTIFIER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NEVER_DELETED = "rows of role_grant are never deleted"


def upgrade() -> None:
    """Create the table with its trigger; what was planned and approved before has nobody vouching for who did it."""
    op.create_table(
        "role_grant",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("subject_kind", sa.String(16), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.Column("revoked_by", sa.Text(), nullable=False),
        sa.Column("revoke_reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_role_grant"),
    )
    op.add_column("plan", sa.Column("planner", sa.Text()))
    op.add_column("plan", sa.Column("planner_database_user", sa.Text()))
    op.add_column("approval", sa.Column("database_user", sa.Text()))
    dialect = op.get_bind().dialect.name
    if dialect == "sqlite":
        op.execute(
            "CREATE TRIGGER role_grant_no_delete BEFORE DELETE ON role_grant"
            f" BEGIN SELECT RAISE(ABORT, '{NEVER_DELETED}'); END"
        )
    elif dialect == "postgresql":
        op.execute(
            "CREATE TRIGGER role_grant_no_delete BEFORE DELETE ON role_grant"
            " FOR EACH ROW EXECUTE FUNCTION refuse_change()"
        )
        op.execute(
            "CREATE TRIGGER role_grant_no_truncate BEFORE TRUNCATE ON role_grant"
            " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )


def downgrade() -> None:
    """Drop it. Without the table everybody could do everything, so that is refused while a role is in force."""
    in_force = sa.text("SELECT count(*) FROM role_grant WHERE revoked_at IS NULL")
    if op.get_bind().execute(in_force).scalar_one():
        raise RuntimeError("roles are in force in this catalog; the version before knows none, so revoke them first")
    op.drop_column("approval", "database_user")
    op.drop_column("plan", "planner_database_user")
    op.drop_column("plan", "planner")
    op.drop_table("role_grant")
