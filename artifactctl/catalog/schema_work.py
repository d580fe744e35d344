"""The tables of work: runs, the promises made to people and jobs, plans, and the removals made under them."""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from artifactctl.catalog.columns import Identifier, Instant, JsonText, Key, Words
from artifactctl.catalog.schema import metadata

run = Table(
    "run",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("stage", String(32), nullable=False, index=True),
    Column("state", String(16), nullable=False),
    Column("command", Words, nullable=False),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("duration_seconds", Float),
    Column("cost_gpu_hours", Float),
    Column("cost_usd", Float),
    Column("recorded_at", Instant, nullable=False),
)

run_input = Table(
    "run_input",
    metadata,
    Column("run_id", Identifier, ForeignKey("run.id"), primary_key=True),
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), primary_key=True, index=True),
)

run_output = Table(
    "run_output",
    metadata,
    Column("run_id", Identifier, ForeignKey("run.id"), primary_key=True),
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), primary_key=True, index=True),
)

# The fence grows with every lease, also over a restore (the epoch is its upper part), and is never used twice.
lease = Table(
    "lease",
    metadata,
    Column("fence", Identifier, primary_key=True),
    Column("lease_id", Key(64), nullable=False, unique=True),
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), nullable=False, index=True),
    Column("owner", Words, nullable=False),
    Column("host", Words, nullable=False),
    Column("pid", BigInteger),
    Column("pid_started", Words, nullable=False),
    Column("command", Words, nullable=False),
    Column("granted_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("ends_boot_id", Words),
    Column("ends_uptime_us", BigInteger),
    Column("released_at", Instant),
    Column("broken_by", Words, nullable=False),
    Column("broken_reason", Words, nullable=False),
)

hold = Table(
    "hold",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), nullable=False, index=True),
    Column("reason", Words, nullable=False),
    Column("actor", Words, nullable=False),
    Column("placed_at", Instant, nullable=False),
    Column("until", Instant),
    Column("released_at", Instant),
    Column("released_by", Words, nullable=False),
    Column("release_reason", Words, nullable=False),
)

reservation = Table(
    "reservation",
    metadata,
    Column("id", Key(64), primary_key=True),
    Column("filesystem_uuid", Key(64), nullable=False, index=True),
    Column("host_id", Identifier, ForeignKey("host.id"), nullable=False),
    Column("path", LargeBinary, nullable=False),
    Column("reserved_bytes", BigInteger, nullable=False),
    Column("filled_bytes", BigInteger, nullable=False),
    Column("purpose", Words, nullable=False),
    Column("actor", Words, nullable=False),
    Column("made_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("ends_boot_id", Words),
    Column("ends_uptime_us", BigInteger),
    Column("released_at", Instant),
)

plan = Table(
    "plan",
    metadata,
    Column("digest", Key(64), primary_key=True),
    Column("document", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("actor", Words, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("planner", Words),
    Column("planner_database_user", Words),
)

plan_step_use = Table(
    "plan_step_use",
    metadata,
    Column("digest", Key(64), primary_key=True),
    Column("step_index", Integer, primary_key=True, autoincrement=False),
    Column("used_at", Instant, nullable=False),
    Column("actor", Words, nullable=False),
)

approval = Table(
    "approval",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("digest", Key(64), nullable=False, index=True),
    Column("actor", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("approved_at", Instant, nullable=False),
    Column("database_user", Words),
)

operation = Table(
    "operation",
    metadata,
    Column("id", Key(64), primary_key=True),
    Column("artifact_id", Identifier, ForeignKey("artifact.id"), nullable=False, index=True),
    Column("replica_id", Identifier, ForeignKey("replica.id"), nullable=False, index=True),
    Column("root_id", String(64), ForeignKey("root.id"), nullable=False, index=True),
    Column("state", String(16), nullable=False, index=True),
    Column("plan_digest", String(64), nullable=False),
    Column("step_index", Integer, nullable=False),
    Column("reason", Words, nullable=False),
    Column("waivers", JsonText, nullable=False),
    Column("actor", Words, nullable=False),
    Column("original", LargeBinary, nullable=False),
    Column("placed", LargeBinary, nullable=False),
    Column("fingerprint", String(128), nullable=False),
    Column("expected_freed_bytes", BigInteger, nullable=False),
    Column("measured_freed_bytes", BigInteger),
    Column("grace_until", Instant),
    Column("started_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("aside_machine_id", Words),
    Column("aside_boot_id", Words),
    Column("aside_uptime_us", BigInteger),
)
