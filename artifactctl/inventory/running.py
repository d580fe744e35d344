"""Runs as the program that carries them out records them: begun, with inputs, and ended, with what they cost."""

from collections.abc import Sequence
from datetime import timedelta

from artifactctl import audit
from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Artifact, Run, RunState
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.hosts.probe.secrecy import without_passwords
from artifactctl.inventory.acting import Acting


def start_run(catalog: Catalog, stage: str, *, inputs: Sequence[Artifact], command: str, acting: Acting) -> Run:
    """Record that a stage has begun."""
    with catalog.writing(acting.actor, acting.now) as writing:
        ids = [artifact.artifact_id for artifact in inputs]
        words = without_passwords(command)
        run = writing.add_run(stage, command=words, started_at=acting.now, inputs=ids)
        evidence: JsonValue = {"run": run.run_id, "stage": stage, "inputs": [artifact.name for artifact in inputs]}
        audit.append(writing.connection, acting.entry(AuditAction.RUN_START, reason=words, evidence=evidence))
    return run


def finish_run(
    catalog: Catalog,
    run: Run,
    *,
    state: RunState,
    duration: timedelta | None = None,
    cost_gpu_hours: float | None,
    cost_usd: float | None,
    acting: Acting,
) -> Run:
    """Record how it ended; StateChanged when it had ended before."""
    with catalog.writing(acting.actor, acting.now) as writing:
        ended = writing.finish_run(
            run.run_id,
            state=state,
            finished_at=acting.now,
            duration_seconds=None if duration is None else duration.total_seconds(),
            cost_gpu_hours=cost_gpu_hours,
            cost_usd=cost_usd,
        )
        evidence: JsonValue = {
            "run": ended.run_id,
            "stage": ended.stage,
            "state": ended.state.value,
            "duration_seconds": ended.duration_seconds,
            "cost_gpu_hours": ended.cost_gpu_hours,
            "cost_usd": ended.cost_usd,
        }
        audit.append(writing.connection, acting.entry(AuditAction.RUN_FINISH, evidence=evidence))
    return ended


def add_output(catalog: Catalog, run: Run, artifact: Artifact, *, acting: Acting) -> None:
    """Record that the run makes the artifact; while it runs, what it is made from is kept."""
    with catalog.writing(acting.actor, acting.now) as writing:
        writing.add_run_output(run.run_id, artifact.artifact_id)
