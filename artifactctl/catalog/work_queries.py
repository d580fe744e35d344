"""Questions about runs, plans and operations."""

from collections import defaultdict
from collections.abc import Collection

from sqlalchemy import Connection, Table, or_, select

from artifactctl.catalog.mapping import to_approval, to_operation, to_plan, to_run
from artifactctl.catalog.schema_artifacts import artifact
from artifactctl.catalog.schema_work import approval, plan_step_use, run, run_input, run_output
from artifactctl.catalog.schema_work import operation as operation_table
from artifactctl.catalog.schema_work import plan as plan_table
from artifactctl.domain.artifacts import Run
from artifactctl.domain.ledger import Approval, Operation, SavedPlan
from artifactctl.domain.operations import JournalEvent

_operations = select(operation_table, artifact.c.name.label("artifact_name")).join(artifact)


def runs(connection: Connection, stage: str | None, artifact_id: int | None) -> tuple[Run, ...]:
    """Return runs, oldest first."""
    statement = select(run).order_by(run.c.id)
    if stage is not None:
        statement = statement.where(run.c.stage == stage)
    if artifact_id is not None:
        read = select(run_input.c.run_id).where(run_input.c.artifact_id == artifact_id)
        written = select(run_output.c.run_id).where(run_output.c.artifact_id == artifact_id)
        statement = statement.where(or_(run.c.id.in_(read), run.c.id.in_(written)))
    inputs, outputs = _ends(connection, run_input), _ends(connection, run_output)
    return tuple(to_run(row, inputs[row.id], outputs[row.id]) for row in connection.execute(statement))


def run_by_id(connection: Connection, run_id: int) -> Run | None:
    """Return one run."""
    row = connection.execute(select(run).where(run.c.id == run_id)).one_or_none()
    if row is None:
        return None
    return to_run(row, _ends(connection, run_input)[run_id], _ends(connection, run_output)[run_id])


def plan(connection: Connection, digest: str) -> SavedPlan | None:
    """Return a saved plan by its whole digest."""
    row = connection.execute(select(plan_table).where(plan_table.c.digest == digest)).one_or_none()
    return None if row is None else to_plan(row, used_steps(connection, digest))


def used_steps(connection: Connection, digest: str) -> tuple[int, ...]:
    """Return the steps of a plan that were begun, ascending."""
    statement = select(plan_step_use.c.step_index).where(plan_step_use.c.digest == digest)
    return tuple(connection.execute(statement.order_by(plan_step_use.c.step_index)).scalars())


def approvals(connection: Connection, digest: str) -> tuple[Approval, ...]:
    """Return the approvals of a plan, oldest first."""
    statement = select(approval).where(approval.c.digest == digest).order_by(approval.c.id)
    return tuple(to_approval(row) for row in connection.execute(statement))


def operation(connection: Connection, operation_id: str) -> Operation | None:
    """Return one operation."""
    row = connection.execute(_operations.where(operation_table.c.id == operation_id)).one_or_none()
    return None if row is None else to_operation(row)


def operations(
    connection: Connection,
    *,
    states: Collection[JournalEvent] | None,
    artifact_id: int | None,
    root_id: str | None,
) -> tuple[Operation, ...]:
    """Return operations, oldest first."""
    statement = _operations.order_by(operation_table.c.started_at, operation_table.c.id)
    if states is not None:
        statement = statement.where(operation_table.c.state.in_(sorted(state.value for state in states)))
    if artifact_id is not None:
        statement = statement.where(operation_table.c.artifact_id == artifact_id)
    if root_id is not None:
        statement = statement.where(operation_table.c.root_id == root_id)
    return tuple(to_operation(row) for row in connection.execute(statement))


def _ends(connection: Connection, table: Table) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for run_id, artifact_id in connection.execute(select(table).order_by(table.c.run_id, table.c.artifact_id)):
        found[run_id].append(artifact_id)
    return found
