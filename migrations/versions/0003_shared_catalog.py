"""A catalog that several machines share: who holds the right to change a root, and where a moved catalog went.

Revision 0003, after 0002. PostgreSQL's triggers say which change they refuse, and also refuse to empty a table.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEPT = (
    "artifact",
    "replica",
    "lineage_edge",
    "root",
    "host",
    "run",
    "lease",
    "hold",
    "reservation",
    "plan",
    "plan_step_use",
    "approval",
    "operation",
    "verification",
    "audit_event",
    "audit_head",
    "root_lease",
)
"""Tables whose rows are never deleted."""


def upgrade() -> None:
    """Add the table of leases on roots and the place a catalog moved to."""
    op.create_table(
        "root_lease",
        sa.Column("root_id", sa.String(64), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("machine_id", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("released_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("root_id", name="pk_root_lease"),
        sa.ForeignKeyConstraint(["root_id"], ["root.id"], name="fk_root_lease_root_id_root"),
    )
    op.add_column("catalog_identity", sa.Column("moved_to", sa.Text()))
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE TRIGGER root_lease_no_delete BEFORE DELETE ON root_lease"
            " BEGIN SELECT RAISE(ABORT, 'rows of root_lease are never deleted'); END"
        )
        return
    op.execute(
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE EXCEPTION 'rows of % are never %', TG_TABLE_NAME,"
        " CASE TG_OP WHEN 'UPDATE' THEN 'changed' ELSE 'deleted' END; END $$"
    )
    op.execute(
        "CREATE TRIGGER root_lease_no_delete BEFORE DELETE ON root_lease FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    for table in KEPT:
        op.execute(
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )


def downgrade() -> None:
    """Drop both. A catalog that moved elsewhere would act again under the version before, so it is refused."""
    moved = sa.text("SELECT moved_to FROM catalog_identity WHERE moved_to IS NOT NULL")
    place = op.get_bind().execute(moved).scalar_one_or_none()
    if place:
        raise RuntimeError(f"this catalog moved to {place}; the version before would not know that")
    if op.get_bind().dialect.name == "postgresql":
        for table in KEPT:
            op.execute(f"DROP TRIGGER {table}_no_truncate ON {table}")
        op.execute(
            "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'rows of % are never removed or changed', TG_TABLE_NAME; END $$"
        )
    op.drop_table("root_lease")
    op.drop_column("catalog_identity", "moved_to")
