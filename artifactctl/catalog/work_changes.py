"""Changes to runs, plans and operations."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Table, insert, update

from artifactctl.catalog import artifact_queries, role_queries, work_queries
from artifactctl.catalog.failures import StateChanged, StepUsed, UnknownObject
from artifactctl.catalog.schema_work import approval, operation, plan, plan_step_use, run, run_input, run_output
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import Run, RunState
from artifactctl.domain.ledger import Operation, PlanState, SavedPlan
from artifactctl.domain.operations import JournalEvent
from artifactctl.domain.roles import Act


def add_run(
    writing: Transaction, stage: str, facts: Mapping[str, Any], inputs: Collection[int], outputs: Collection[int]
) -> Run:
    """Record one execution of a stage."""
    values = _with_duration(facts, facts["started_at"])
    statement = insert(run).values(stage=stage, recorded_at=writing.now, **values).returning(run.c.id)
    run_id = writing.connection.execute(statement).scalar_one()
    _attach(writing, run_input, run_id, inputs)
    _attach(writing, run_output, run_id, outputs)
    return _run(writing, run_id)


def finish_run(writing: Transaction, run_id: int, facts: Mapping[str, Any], outputs: Collection[int]) -> Run:
    """Record how a running run ended."""
    known = _run(writing, run_id)
    if known.state is not RunState.RUNNING:
        raise StateChanged(f"run {run_id} ({known.stage}) has {known.state} before")
    changes = {key: value for key, value in _with_duration(facts, known.started_at).items() if value is not None}
    writing.connection.execute(update(run).where(run.c.id == run_id).values(**changes))
    _attach(writing, run_output, run_id, set(outputs) - set(known.outputs))
    return _run(writing, run_id)


def add_run_output(writing: Transaction, run_id: int, artifact_id: int) -> None:
    """Record that a run makes an artifact; once is enough."""
    _attach(writing, run_output, run_id, {artifact_id} - set(_run(writing, run_id).outputs))


def save_plan(writing: Transaction, digest: str, document: str, expires_at: datetime, *, as_planner: bool) -> SavedPlan:
    """Keep a plan. Where roles are in force, whoever brings in one that nobody vouched for vouches for it."""
    known = work_queries.plan(writing.connection, digest)
    if known is None or known.planner is None:
        writing.require(Act.PLAN, about=f"plan {digest[:12]}")
        as_planner = as_planner or bool(role_queries.grants(writing.connection))
    if known is None:
        writing.connection.execute(
            insert(plan).values(
                digest=digest,
                document=document,
                state=PlanState.SAVED.value,
                actor=writing.actor,
                created_at=writing.now,
                expires_at=expires_at,
            )
        )
    elif expires_at > known.expires_at:
        writing.connection.execute(update(plan).where(plan.c.digest == digest).values(expires_at=expires_at))
    if as_planner and (known is None or known.planner is None):
        planner = {"planner": writing.actor, "planner_database_user": writing.database_user()}
        writing.connection.execute(update(plan).where(plan.c.digest == digest).values(**planner))
    return _plan(writing, digest)


def set_plan_state(writing: Transaction, digest: str, state: PlanState) -> None:
    """Record how far a plan's application came."""
    _plan(writing, digest)
    writing.connection.execute(update(plan).where(plan.c.digest == digest).values(state=state.value))


def use_step(writing: Transaction, digest: str, step_index: int) -> None:
    """Claim a step of a plan for good."""
    if step_index in work_queries.used_steps(writing.connection, digest):
        raise StepUsed(
            f"step {step_index} of plan {digest[:12]} was begun before", remedy="make a new plan: artifactctl reclaim"
        )
    writing.connection.execute(
        insert(plan_step_use).values(digest=digest, step_index=step_index, used_at=writing.now, actor=writing.actor)
    )


def approve(writing: Transaction, digest: str, reason: str) -> None:
    """Record this actor's consent."""
    writing.require(Act.APPROVE, about=f"plan {digest[:12]}")
    writing.connection.execute(
        insert(approval).values(
            digest=digest,
            actor=writing.actor,
            reason=reason,
            approved_at=writing.now,
            database_user=writing.database_user(),
        )
    )


def add_operation(writing: Transaction, operation_id: str, replica_id: int, facts: Mapping[str, Any]) -> Operation:
    """Record a removal of a replica from where it is now."""
    target = artifact_queries.replica_by_id(writing.connection, replica_id)
    if target is None:
        raise UnknownObject(f"there is no replica with the number {replica_id}")
    if work_queries.operation(writing.connection, operation_id) is not None:
        raise StateChanged(f"the operation {operation_id} is recorded already")
    writing.connection.execute(
        insert(operation).values(
            id=operation_id,
            replica_id=replica_id,
            artifact_id=target.artifact_id,
            root_id=target.root.root_id,
            original=target.relative,
            actor=writing.actor,
            started_at=writing.now,
            updated_at=writing.now,
            **facts,
        )
    )
    return _operation(writing, operation_id)


def update_operation(writing: Transaction, operation_id: str, changes: Mapping[str, Any]) -> Operation:
    """Record how far an operation came."""
    _operation(writing, operation_id)
    changes = dict(changes)
    if changes.get("state") == JournalEvent.KEPT.value:
        changes["grace_until"] = None
    statement = update(operation).where(operation.c.id == operation_id)
    writing.connection.execute(statement.values(updated_at=writing.now, **changes))
    return _operation(writing, operation_id)


def _with_duration(facts: Mapping[str, Any], started_at: datetime | None) -> dict[str, Any]:
    values = dict(facts)
    if values["duration_seconds"] is None and started_at is not None and values["finished_at"] is not None:
        values["duration_seconds"] = (values["finished_at"] - started_at).total_seconds()
    return values


def _attach(writing: Transaction, table: Table, run_id: int, artifact_ids: Collection[int]) -> None:
    rows = [{"run_id": run_id, "artifact_id": artifact_id} for artifact_id in sorted(set(artifact_ids))]
    if rows:
        writing.connection.execute(insert(table), rows)


def _run(writing: Transaction, run_id: int) -> Run:
    found = work_queries.run_by_id(writing.connection, run_id)
    if found is None:
        raise UnknownObject(f"there is no run {run_id}")
    return found


def _plan(writing: Transaction, digest: str) -> SavedPlan:
    found = work_queries.plan(writing.connection, digest)
    if found is None:
        raise UnknownObject(
            f"there is no plan {digest[:12]} in the catalog", remedy="make a new plan: artifactctl reclaim"
        )
    return found


def _operation(writing: Transaction, operation_id: str) -> Operation:
    found = work_queries.operation(writing.connection, operation_id)
    if found is None:
        raise UnknownObject(f"there is no operation {operation_id}", remedy="artifactctl quarantine ls")
    return found
