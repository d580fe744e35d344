"""The first catalog: machines, artifacts, promises, plans, operations, and the audit chain.

Revision 0001, after nothing. What must never go is protected here, in the database itself.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

IDENTIFIER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
INSTANT = sa.BigInteger()
"""Microseconds since 1970."""

NEVER_DELETED = (
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
)
NEVER_CHANGED = ("audit_event", "plan_step_use", "approval", "verification")


def upgrade() -> None:
    """Create the tables, parents first, and the triggers."""
    _create_identity_and_places()
    _create_artifacts()
    _create_copies()
    _create_members()
    _create_runs()
    _create_promises()
    _create_plans()
    _create_operations()
    _create_audit()
    dialect = op.get_bind().dialect.name
    for table in NEVER_DELETED:
        _refuse(dialect, table, "DELETE")
    for table in NEVER_CHANGED:
        _refuse(dialect, table, "UPDATE")


def downgrade() -> None:
    """Drop the tables, children first; the triggers go with them."""
    for table in (
        "audit_head",
        "audit_event",
        "operation",
        "approval",
        "plan_step_use",
        "plan",
        "reservation",
        "hold",
        "lease",
        "run_output",
        "run_input",
        "run",
        "shard",
        "shard_directory",
        "observation",
        "verification",
        "replica",
        "measurement",
        "lineage_edge",
        "artifact",
        "member_list",
        "root",
        "volume",
        "host",
        "catalog_identity",
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_change")


def _create_identity_and_places() -> None:
    op.create_table(
        "catalog_identity",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("lineage_id", sa.String(36), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("revision", IDENTIFIER, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("written_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_catalog_identity"),
        sa.CheckConstraint("id = 1", name="ck_catalog_identity_one_row"),
    )
    op.create_table(
        "host",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("machine_id", sa.String(64), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("host_key", sa.Text(), nullable=False),
        sa.Column("uses_sudo", sa.Boolean(), nullable=False),
        sa.Column("added_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_host"),
        sa.UniqueConstraint("name", name="uq_host_name"),
    )
    op.create_table(
        "volume",
        sa.Column("filesystem_uuid", sa.String(64), nullable=False),
        sa.Column("host_id", IDENTIFIER, nullable=False),
        sa.Column("mount", sa.LargeBinary(), nullable=False),
        sa.Column("filesystem_type", sa.String(32), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("filesystem_uuid", "host_id", name="pk_volume"),
        _reference("volume", "host_id", "host.id"),
    )
    op.create_table(
        "root",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host_id", IDENTIFIER, nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("filesystem_uuid", sa.String(64), nullable=False),
        sa.Column("filesystem_type", sa.String(32), nullable=False),
        sa.Column("inode", sa.BigInteger(), nullable=False),
        sa.Column("attestation", sa.Text(), nullable=False),
        sa.Column("added_at", INSTANT, nullable=False),
        sa.Column("forgotten_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_root"),
        _reference("root", "host_id", "host.id"),
    )
    _index("root", "filesystem_uuid")
    _unique_where("uq_root_name_in_use", "root", ["name"], "forgotten_at IS NULL")


def _create_artifacts() -> None:
    op.create_table(
        "member_list",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("begun_at", INSTANT, nullable=False),
        sa.Column("members", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_member_list"),
    )
    op.create_table(
        "artifact",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_passed_on", IDENTIFIER, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("tokens", sa.BigInteger()),
        sa.Column("records", sa.BigInteger()),
        sa.Column("content_digest", sa.String(128), nullable=False),
        sa.Column("sealed", sa.Boolean(), nullable=False),
        sa.Column("superseded_by_id", IDENTIFIER),
        sa.Column("member_list_id", IDENTIFIER),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_artifact"),
        _reference("artifact", "member_list_id", "member_list.id"),
        _reference("artifact", "superseded_by_id", "artifact.id"),
        sa.UniqueConstraint("name", "name_passed_on", name="uq_artifact_name_name_passed_on"),
    )
    op.create_table(
        "lineage_edge",
        sa.Column("child_id", IDENTIFIER, nullable=False),
        sa.Column("parent_id", IDENTIFIER, nullable=False),
        sa.Column("role", sa.String(32), nullable=False),
        sa.Column("recorded_at", INSTANT, nullable=False),
        sa.Column("recorded_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("child_id", "parent_id", "role", name="pk_lineage_edge"),
        _reference("lineage_edge", "child_id", "artifact.id"),
        _reference("lineage_edge", "parent_id", "artifact.id"),
        sqlite_with_rowid=False,
    )
    _index("lineage_edge", "parent_id", "child_id")
    op.create_table(
        "measurement",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("artifact_id", IDENTIFIER, nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("measured_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_measurement"),
        _reference("measurement", "artifact_id", "artifact.id"),
    )
    _index("measurement", "artifact_id")


def _create_copies() -> None:
    op.create_table(
        "replica",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("artifact_id", IDENTIFIER, nullable=False),
        sa.Column("root_id", sa.String(64), nullable=False),
        sa.Column("relative", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("is_directory", sa.Boolean(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("apparent_bytes", sa.BigInteger(), nullable=False),
        sa.Column("allocated_bytes", sa.BigInteger(), nullable=False),
        sa.Column("member_digest", sa.String(128), nullable=False),
        sa.Column("fingerprint", sa.String(128), nullable=False),
        sa.Column("observed_at", INSTANT, nullable=False),
        sa.Column("verified_at", INSTANT),
        sa.Column("verified_level", sa.String(16)),
        sa.Column("verified_fingerprint", sa.String(128), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_replica"),
        _reference("replica", "artifact_id", "artifact.id"),
        _reference("replica", "root_id", "root.id"),
    )
    _index("replica", "artifact_id")
    _index("replica", "root_id", "relative")
    _index("replica", "state")
    _unique_where("uq_replica_at_its_path", "replica", ["root_id", "relative"], "state IN ('building', 'live')")
    op.create_table(
        "verification",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("replica_id", IDENTIFIER, nullable=False),
        sa.Column("level", sa.String(16), nullable=False),
        sa.Column("ok", sa.Boolean(), nullable=False),
        sa.Column("problems", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.String(128), nullable=False),
        sa.Column("verified_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_verification"),
        _reference("verification", "replica_id", "replica.id"),
    )
    _index("verification", "replica_id")
    op.create_table(
        "observation",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("replica_id", IDENTIFIER, nullable=False),
        sa.Column("observed_at", INSTANT, nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_observation"),
        _reference("observation", "replica_id", "replica.id"),
    )
    _index("observation", "replica_id")


def _create_members() -> None:
    op.create_table(
        "shard_directory",
        sa.Column("id", IDENTIFIER, nullable=False, autoincrement=False),
        sa.Column("list_id", IDENTIFIER, nullable=False),
        sa.Column("relative", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_shard_directory"),
        _reference("shard_directory", "list_id", "member_list.id"),
        sa.UniqueConstraint("list_id", "relative", name="uq_shard_directory_list_id_relative"),
    )
    op.create_table(
        "shard",
        sa.Column("directory_id", IDENTIFIER, nullable=False, autoincrement=False),
        sa.Column("name", sa.LargeBinary(), nullable=False),
        sa.Column("type", sa.SmallInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger()),
        sa.Column("digest", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("directory_id", "name", name="pk_shard"),
        sqlite_with_rowid=False,
    )


def _create_runs() -> None:
    op.create_table(
        "run",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("stage", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("started_at", INSTANT),
        sa.Column("finished_at", INSTANT),
        sa.Column("duration_seconds", sa.Float()),
        sa.Column("cost_gpu_hours", sa.Float()),
        sa.Column("cost_usd", sa.Float()),
        sa.Column("recorded_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )
    _index("run", "stage")
    op.create_table(
        "run_input",
        sa.Column("run_id", IDENTIFIER, nullable=False),
        sa.Column("artifact_id", IDENTIFIER, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "artifact_id", name="pk_run_input"),
        _reference("run_input", "artifact_id", "artifact.id"),
        _reference("run_input", "run_id", "run.id"),
    )
    _index("run_input", "artifact_id")
    op.create_table(
        "run_output",
        sa.Column("run_id", IDENTIFIER, nullable=False),
        sa.Column("artifact_id", IDENTIFIER, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "artifact_id", name="pk_run_output"),
        _reference("run_output", "artifact_id", "artifact.id"),
        _reference("run_output", "run_id", "run.id"),
    )
    _index("run_output", "artifact_id")


def _create_promises() -> None:
    op.create_table(
        "lease",
        sa.Column("fence", IDENTIFIER, nullable=False),
        sa.Column("lease_id", sa.String(64), nullable=False),
        sa.Column("artifact_id", IDENTIFIER, nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger()),
        sa.Column("pid_started", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("granted_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("released_at", INSTANT),
        sa.Column("broken_by", sa.Text(), nullable=False),
        sa.Column("broken_reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("fence", name="pk_lease"),
        _reference("lease", "artifact_id", "artifact.id"),
        sa.UniqueConstraint("lease_id", name="uq_lease_lease_id"),
    )
    _index("lease", "artifact_id")
    _index("lease", "expires_at")
    op.create_table(
        "hold",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("artifact_id", IDENTIFIER, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("placed_at", INSTANT, nullable=False),
        sa.Column("until", INSTANT),
        sa.Column("released_at", INSTANT),
        sa.Column("released_by", sa.Text(), nullable=False),
        sa.Column("release_reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hold"),
        _reference("hold", "artifact_id", "artifact.id"),
    )
    _index("hold", "artifact_id")
    op.create_table(
        "reservation",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("filesystem_uuid", sa.String(64), nullable=False),
        sa.Column("host_id", IDENTIFIER, nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("reserved_bytes", sa.BigInteger(), nullable=False),
        sa.Column("filled_bytes", sa.BigInteger(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("made_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("released_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_reservation"),
        _reference("reservation", "host_id", "host.id"),
    )
    _index("reservation", "filesystem_uuid")


def _create_plans() -> None:
    op.create_table(
        "plan",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_plan"),
    )
    op.create_table(
        "plan_step_use",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("step_index", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("used_at", INSTANT, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", "step_index", name="pk_plan_step_use"),
    )
    op.create_table(
        "approval",
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("approved_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_approval"),
    )
    _index("approval", "digest")


def _create_operations() -> None:
    op.create_table(
        "operation",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("artifact_id", IDENTIFIER, nullable=False),
        sa.Column("replica_id", IDENTIFIER, nullable=False),
        sa.Column("root_id", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("plan_digest", sa.String(64), nullable=False),
        sa.Column("step_index", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("waivers", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("original", sa.LargeBinary(), nullable=False),
        sa.Column("placed", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.String(128), nullable=False),
        sa.Column("expected_freed_bytes", sa.BigInteger(), nullable=False),
        sa.Column("measured_freed_bytes", sa.BigInteger()),
        sa.Column("grace_until", INSTANT),
        sa.Column("started_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_operation"),
        _reference("operation", "artifact_id", "artifact.id"),
        _reference("operation", "replica_id", "replica.id"),
        _reference("operation", "root_id", "root.id"),
    )
    _index("operation", "artifact_id")
    _index("operation", "replica_id")
    _index("operation", "root_id")
    _index("operation", "state")


def _create_audit() -> None:
    op.create_table(
        "audit_event",
        sa.Column("id", IDENTIFIER, nullable=False, autoincrement=False),
        sa.Column("at_microseconds", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("artifact", sa.Text(), nullable=False),
        sa.Column("path", sa.LargeBinary()),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_event"),
    )
    _index("audit_event", "artifact")
    _index("audit_event", "at_microseconds")
    _index("audit_event", "operation")
    _index("audit_event", "path")
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("event_id", IDENTIFIER, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("events", IDENTIFIER, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_head"),
        sa.CheckConstraint("id = 1", name="ck_audit_head_one_row"),
    )
    op.execute("INSERT INTO audit_head (id, event_id, hash, events) VALUES (1, 0, '', 0)")


def _reference(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}_{target.partition('.')[0]}"
    return sa.ForeignKeyConstraint([column], [target], name=name)


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def _unique_where(name: str, table: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=True, sqlite_where=where, postgresql_where=where)


def _refuse(dialect: str, table: str, change: str) -> None:
    name = f"{table}_no_{change.lower()}"
    message = f"rows of {table} are never {'deleted' if change == 'DELETE' else 'changed'}"
    if dialect == "sqlite":
        op.execute(f"CREATE TRIGGER {name} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, '{message}'); END")
    elif dialect == "postgresql":
        op.execute(
            "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'rows of % are never removed or changed', TG_TABLE_NAME; END $$"
        )
        op.execute(f"CREATE TRIGGER {name} BEFORE {change} ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_change()")
