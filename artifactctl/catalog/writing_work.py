"""Changes of runs, plans, operations and divided work."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from artifactctl.catalog import (
    share_records,
    work_changes,
)
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import (
    Run,
    RunState,
)
from artifactctl.domain.ledger import Operation, PlanState, SavedPlan
from artifactctl.domain.operations import JournalEvent
from artifactctl.domain.shares import Share
from artifactctl.domain.uptime import Uptime


class WorkWriting(Transaction):
    """Runs, plans, operations, divided work."""

    def add_run(  # noqa: PLR0913  as above
        self,
        stage: str,
        *,
        state: RunState = RunState.RUNNING,
        command: str = "",
        started_at: datetime | None = None,
        finished_at: datetime | None = None,
        duration_seconds: float | None = None,
        cost_gpu_hours: float | None = None,
        cost_usd: float | None = None,
        inputs: Collection[int] = (),
        outputs: Collection[int] = (),
    ) -> Run:
        """Record one execution of a stage; the duration follows from both instants when it is not given."""
        facts = {
            "state": state.value,
            "command": command,
            "started_at": started_at,
            "finished_at": finished_at,
            "duration_seconds": duration_seconds,
            "cost_gpu_hours": cost_gpu_hours,
            "cost_usd": cost_usd,
        }
        return work_changes.add_run(self, stage, facts, inputs, outputs)

    def finish_run(
        self,
        run_id: int,
        *,
        state: RunState,
        finished_at: datetime,
        duration_seconds: float | None = None,
        cost_gpu_hours: float | None = None,
        cost_usd: float | None = None,
        outputs: Collection[int] = (),
    ) -> Run:
        """Record how a running run ended; StateChanged when it had ended before."""
        facts = {
            "state": state.value,
            "finished_at": finished_at,
            "duration_seconds": duration_seconds,
            "cost_gpu_hours": cost_gpu_hours,
            "cost_usd": cost_usd,
        }
        return work_changes.finish_run(self, run_id, facts, outputs)

    def add_run_output(self, run_id: int, artifact_id: int) -> None:
        """Record that a run makes an artifact, while it is at it."""
        work_changes.add_run_output(self, run_id, artifact_id)

    def save_plan(self, digest: str, document: str, *, expires_at: datetime, as_planner: bool = False) -> SavedPlan:
        """Keep a plan; the same digest again is the same plan, with the later expiry and its first planner."""
        return work_changes.save_plan(self, digest, document, expires_at, as_planner=as_planner)

    def set_plan_state(self, digest: str, state: PlanState) -> None:
        """Record how far a plan's application came."""
        work_changes.set_plan_state(self, digest, state)

    def use_step(self, digest: str, step_index: int) -> None:
        """Claim a step of a plan for good; StepUsed when it was claimed before (invariant I5)."""
        work_changes.use_step(self, digest, step_index)

    def approve(self, digest: str, *, reason: str) -> None:
        """Record this actor's consent to a plan."""
        work_changes.approve(self, digest, reason)

    def add_operation(  # noqa: PLR0913  as above
        self,
        operation_id: str,
        replica_id: int,
        *,
        state: JournalEvent = JournalEvent.INTENDED,
        plan_digest: str = "",
        step_index: int = 0,
        reason: str = "",
        waivers: Sequence[str] = (),
        placed: bytes = b"",
        fingerprint: str = "",
        expected_freed_bytes: int = 0,
        grace_until: datetime | None = None,
        aside_since: Uptime | None = None,
    ) -> Operation:
        """Record a removal of a replica from where it is now; `aside_since` is the uptime of its machine."""
        facts = {
            **_uptime_columns(aside_since),
            "state": state.value,
            "plan_digest": plan_digest,
            "step_index": step_index,
            "reason": reason,
            "waivers": list(waivers),
            "placed": placed,
            "fingerprint": fingerprint,
            "expected_freed_bytes": expected_freed_bytes,
            "grace_until": grace_until,
        }
        return work_changes.add_operation(self, operation_id, replica_id, facts)

    def update_operation(
        self,
        operation_id: str,
        *,
        state: JournalEvent | None = None,
        placed: bytes | None = None,
        measured_freed_bytes: int | None = None,
        grace_until: datetime | None = None,
        aside_since: Uptime | None = None,
    ) -> Operation:
        """Record how far an operation came; a `kept` one loses its end of grace.

        `aside_since`: only from then on is it known to lie in quarantine, by its machine's uptime.
        """
        given = {
            **_uptime_columns(aside_since),
            "state": state.value if state else None,
            "placed": placed,
            "measured_freed_bytes": measured_freed_bytes,
            "grace_until": grace_until,
        }
        changes = {key: value for key, value in given.items() if value is not None}
        return work_changes.update_operation(self, operation_id, changes)

    # divided work

    def divide(self, artifact_id: int, *, fingerprint: Mapping[str, str], shares: int) -> None:
        """Record that the making of an artifact is divided into so many shares."""
        share_records.divide(self, artifact_id, fingerprint, shares)

    def claim_share(self, artifact_id: int, number: int, *, expires_at: datetime, holder: Mapping[str, Any]) -> Share:
        """Give a share to a `holder` (owner, host, pid, pid_started) under a new fence."""
        return share_records.claim(self, artifact_id, number, expires_at=expires_at, holder=holder)

    def change_share(self, mine: Share, values: Mapping[str, Any]) -> Share:
        """Change a share that its holder still has; LeaseLost when another took it over, or it is finished."""
        return share_records.change_own(self, mine, values)

    def reopen_share(self, seen: Share) -> bool:
        """Let a finished share be claimed again, unless it is another one by now; return whether it was."""
        return share_records.reopen(self, seen)


def _uptime_columns(uptime: Uptime | None) -> dict[str, Any]:
    if uptime is None:
        return {}
    return {
        "aside_machine_id": uptime.machine_id,
        "aside_boot_id": uptime.boot_id,
        "aside_uptime_us": uptime.since_boot // timedelta(microseconds=1),
    }
