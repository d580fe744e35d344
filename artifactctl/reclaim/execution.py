"""Carrying out a plan: steps 1 to 6 of the deletion protocol, for each step of the plan.

1. Observe afresh, run all guards.            A plan is only as good as the last look.
2. Write the manifest, journal the intent.    I1: nothing goes without a durable record.
3. Mark `quarantining` in the transaction that runs the guards again.   No lease, hold or other run can slip in between.
4. Rename into quarantine.                    A crash here leaves a path that recovery finds.
5. fsync both parents (inside `set_aside`).   The journal never runs ahead of the disk.
6. Look again, now that no new opener can come by the old path; anything: put it back.

Each number has a crash test. A refused step never stops the others.
"""

from dataclasses import replace
from datetime import datetime

from artifactctl.catalog import Reading, RoleMissing, Writing
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import HostFailure, HostUnreachable, Refused
from artifactctl.domain.observation import Observation
from artifactctl.domain.operations import JournalEvent, StepOutcome
from artifactctl.domain.plans import ReclaimPlan, ReclaimStep, canonical_json
from artifactctl.domain.results import StepResult
from artifactctl.domain.uptime import Uptime
from artifactctl.domain.verdicts import Clearance, Evidence, Verdict, may_remove
from artifactctl.guards import evaluate
from artifactctl.guards.attested import grace_on, stated_in
from artifactctl.hosts.protocol import ManifestNote, PutBack, RootLock, SetAside
from artifactctl.inventory.candidates import Choice, candidate_for
from artifactctl.inventory.kinship import Freshness
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.rulings import Ruling, Rulings, ruling_on
from artifactctl.reclaim.as_it_begins import limits_as_it_begins
from artifactctl.reclaim.second_look import second_look
from artifactctl.reclaim.survey import links_to, look, target_of, with_links
from artifactctl.reclaim.used_steps import step_was_abandoned
from artifactctl.reclaim.workplace import CLEARANCE_LIFETIME, Workplace, must_hold, record
from artifactctl.report.evidence import evidence_payload

_FAILURES = {
    SetAside.CROSS_DEVICE: "it cannot be renamed into quarantine without copying (another filesystem or subvolume)",
    SetAside.NO_SPACE: "the filesystem has no room for the rename",
    SetAside.DENIED: "permission to rename it was denied",
    SetAside.MOUNTED: "something is mounted on it",
    SetAside.OCCUPIED: "its place in quarantine is taken",
}


class StepExecution:
    """One step of one plan, from the first look to the second."""

    def __init__(
        self,
        workplace: Workplace,
        plan: ReclaimPlan,
        index: int,
        *,
        operation: str,
        reason: str,
        rulings: Rulings | None,
    ) -> None:
        """Prepare step `index`; nothing happens before `run`. `rulings` are needed for what the policy offered."""
        self._work = workplace
        self._plan = plan
        self._index = index
        self._step: ReclaimStep = plan.steps[index]
        self._operation = operation
        self._reason = reason
        self._rulings = rulings

    def run(self, lock: RootLock) -> StepResult:
        """Carry the step out; every expected failure becomes an outcome."""
        step = self._step
        with self._work.catalog.reading() as reading:
            found = self._find(reading)
            if isinstance(found, StepResult):
                return found
            artifact, replica = found
            try:
                seen = self._first_look(reading, replica)
                fresh = self._work.fresh(reading, [(artifact, replica)])
            except HostFailure as error:
                return self._failed(error)
            if seen.identity is None and not seen.problems and seen.confinement.symlinked_component is None:
                return self._ended(StepOutcome.ALREADY_ABSENT, detail="nothing is at the path any more")
            evidence = self._judge(reading, artifact, replica, seen, fresh)
        if not may_remove(evidence):
            return self._refused(evidence)
        if seen.identity != step.identity:
            return self._refused(self._stale("another file or folder stands at the path than was planned"))
        try:
            return self._act(artifact, replica, seen, fresh, evidence, lock)
        except RoleMissing as refusal:
            return self._refused((refusal.evidence,))
        except Refused as refusal:
            return self._refused((_as_evidence(refusal),))
        except HostFailure as error:
            # The journal knows how far it got: recovery, which `apply_plan` runs after the steps, ends it.
            return self._failed(error)

    def _failed(self, error: HostFailure) -> StepResult:
        """Return a failed step; where nobody answers any more the whole command ends, since nobody could undo it."""
        if isinstance(error, HostUnreachable):
            raise error
        return self._ended(StepOutcome.FAILED, detail=error.message)

    # --- looking and judging -------------------------------------------------------------------------------------

    def _find(self, reading: Reading) -> tuple[Artifact, Replica] | StepResult:
        step = self._step
        artifact = reading.artifact_by_id(step.artifact_id)
        replica = next((r for r in artifact.replicas if r.replica_id == step.replica_id), None) if artifact else None
        if artifact is None or replica is None:
            return self._refused(self._stale("the catalog does not know this artifact"))
        if replica.state in (ReplicaState.GONE, ReplicaState.PURGING):
            return self._ended(StepOutcome.ALREADY_ABSENT, detail=f"it is {replica.state.value} already")
        if replica.state is not ReplicaState.LIVE:
            return self._refused(self._stale(f"its state is {replica.state.value}, not live"))
        if replica.generation != step.generation:
            return self._refused(self._stale("it was set aside and put back since the plan was made"))
        if (replica.root.root_id, replica.relative) != (step.root_id, step.relative):
            return self._refused(self._stale("it was moved since the plan was made"))
        if replica.root.filesystem_uuid != step.filesystem_uuid:
            return self._refused(self._stale("its root is on another filesystem than when the plan was made"))
        if stated_in(step.evidence) not in (None, replica.root.attestation):
            return self._refused(self._stale("what was stated about who mounts its volume changed since the plan"))
        return artifact, replica

    def _first_look(self, reading: Reading, replica: Replica) -> Observation:
        seen = look(self._work.host, reading, replica, stamp=self._work.stamp)
        seen = self._work.asked_everywhere(reading, replica.root, seen)
        target = target_of(replica).absolute
        roots = roots_here(reading, self._work.host.identify())
        links, problems = links_to(self._work.host, roots, [target])
        return with_links(seen, links, problems, target=target)

    def _judge(
        self, reading: Reading, artifact: Artifact, replica: Replica, seen: Observation, fresh: Freshness
    ) -> tuple[Evidence, ...]:
        candidate = candidate_for(
            reading,
            artifact,
            replica,
            choice=Choice(
                named=self._step.was_named,
                planned_fingerprint=self._step.fingerprint,
                purge_at_once=self._plan.purge_now,
            ),
            ruling=self._ruling(reading, replica),
            fresh=fresh,
            trust=self._work.trust(reading),
            now=self._work.clock(),
        )
        return evaluate(self._work.guards, candidate, seen, waivers=self._plan.waivers)

    def _ruling(self, reading: Reading, replica: Replica) -> Ruling:
        """Return what the policy said before the first step, with the protects of this very moment."""
        present = ruling_on(self._work.policy, reading, replica, now=self._work.clock())
        if self._step.was_named or self._rulings is None:
            return present
        offered = self._rulings.about(replica)
        return replace(offered, protect=present.protect or offered.protect)

    # --- acting --------------------------------------------------------------------------------------------------

    def _act(
        self,
        artifact: Artifact,
        replica: Replica,
        seen: Observation,
        fresh: Freshness,
        evidence: tuple[Evidence, ...],
        lock: RootLock,
    ) -> StepResult:
        host, root = self._work.host, replica.root
        must_hold(lock, root)
        manifest_fingerprint = host.intend(root, self._note(artifact, replica, evidence), sibling=self._step.sibling)
        if manifest_fingerprint != self._step.fingerprint:
            host.abandon(root, self._operation, "changed while its members were listed")
            return self._refused(self._stale("something below changed while its members were being listed"))
        try:
            evidence = self._judge_and_mark(artifact, replica, seen, fresh)
        except Refused:
            host.abandon(root, self._operation, "somebody else was faster")
            raise
        if not may_remove(evidence):
            host.abandon(root, self._operation, "a guard refused it in the transaction")
            return self._refused(evidence)
        clearance = self._clearance(replica, evidence)
        return self._set_aside(artifact, replica, clearance, lock)

    def _judge_and_mark(
        self, artifact: Artifact, replica: Replica, seen: Observation, fresh: Freshness
    ) -> tuple[Evidence, ...]:
        """Run the guards on what the catalog says in this transaction, and mark `quarantining` when all are clear.

        The limits are asked as well: another run that began since may have used what was left of the day's.
        """
        since = self._work.host.uptime()
        with self._work.catalog.writing(self._work.actor, self._work.clock()) as writing:
            current = writing.artifact_by_id(artifact.artifact_id) or artifact
            present = next(r for r in current.replicas if r.replica_id == replica.replica_id)
            limits = limits_as_it_begins(self._work, writing, self._plan)
            evidence = (*self._judge(writing, current, present, seen, fresh), limits)
            if may_remove(evidence):
                self._mark(writing, artifact, replica, evidence, since)
        return evidence

    def _mark(
        self, writing: Writing, artifact: Artifact, replica: Replica, evidence: tuple[Evidence, ...], since: Uptime
    ) -> None:
        step, plan = self._step, self._plan
        if not step_was_abandoned(writing, plan, self._index):
            writing.use_step(plan.digest, self._index)
        writing.add_operation(
            self._operation,
            replica.replica_id,
            state=JournalEvent.INTENDED,
            plan_digest=plan.digest,
            step_index=self._index,
            reason=self._reason,
            waivers=plan.waivers,
            fingerprint=step.fingerprint,
            expected_freed_bytes=step.expected_freed_bytes,
            aside_since=since,
        )
        writing.change_state(replica.replica_id, expected={ReplicaState.LIVE}, to=ReplicaState.QUARANTINING)
        record(
            writing,
            self._work,
            AuditAction.QUARANTINE_BEGIN,
            artifact=artifact.name,
            path=step.path,
            size_bytes=step.allocated_bytes,
            reason=self._reason,
            operation=self._operation,
            evidence=evidence,
        )

    def _set_aside(self, artifact: Artifact, replica: Replica, clearance: Clearance, lock: RootLock) -> StepResult:
        host, root = self._work.host, replica.root
        must_hold(lock, root)
        if self._work.clock() >= clearance.expires_at:
            host.abandon(root, self._operation, "the look was too old to act on")
            self._back_to_live(artifact, replica, AuditAction.QUARANTINE_ABANDON, "the look was too old to act on")
            return self._refused(self._stale("the look was too old to act on"))
        outcome = host.set_aside(root, self._operation)
        if outcome is not SetAside.DONE:
            host.abandon(root, self._operation, outcome.value)
            self._back_to_live(artifact, replica, AuditAction.QUARANTINE_ABANDON, outcome.value)
            return self._not_set_aside(outcome)
        problems = self._second_look(replica)
        if problems:
            return self._undo(artifact, replica, problems)
        host.confirm(root, self._operation)
        grace_until = self._work.clock() + grace_on(clearance.evidence, self._plan.grace)
        self._finish(
            artifact, replica, JournalEvent.QUARANTINED, AuditAction.QUARANTINE_DONE, clearance.evidence, grace_until
        )
        return self._ended(StepOutcome.QUARANTINED, evidence=clearance.evidence, grace_until=grace_until)

    def _second_look(self, replica: Replica) -> tuple[Evidence, ...]:
        """Return what speaks against keeping it in quarantine: holders, or a change against the first look."""
        try:
            return second_look(self._work, replica, self._operation, self._step.fingerprint)
        except HostUnreachable:
            raise
        except HostFailure as error:
            return (Evidence(guard="not_held", verdict=Verdict.UNKNOWN, reason=error.message),)

    def _undo(self, artifact: Artifact, replica: Replica, problems: tuple[Evidence, ...]) -> StepResult:
        root, reason = replica.root, problems[0].reason
        outcome = self._work.host.put_back(root, self._operation, to=None, reason=reason)
        if outcome is PutBack.DONE:
            self._back_to_live(artifact, replica, AuditAction.QUARANTINE_PUT_BACK, reason, evidence=problems)
            return self._ended(StepOutcome.BUSY_RESTORED, evidence=problems, detail=reason)
        self._work.host.keep(root, self._operation, reason)
        self._finish(artifact, replica, JournalEvent.KEPT, AuditAction.QUARANTINE_KEEP, problems, None)
        detail = f"{reason}; its old path is {outcome.value}, so it stays in quarantine and never expires"
        return self._ended(StepOutcome.BUSY_KEPT, evidence=problems, detail=detail)

    # --- recording -----------------------------------------------------------------------------------------------

    def _finish(
        self,
        artifact: Artifact,
        replica: Replica,
        event: JournalEvent,
        action: AuditAction,
        evidence: tuple[Evidence, ...],
        grace_until: datetime | None,
    ) -> None:
        with self._work.catalog.writing(self._work.actor, self._work.clock()) as writing:
            writing.change_state(replica.replica_id, expected={ReplicaState.QUARANTINING}, to=ReplicaState.QUARANTINED)
            writing.update_operation(self._operation, state=event, grace_until=grace_until)
            record(
                writing,
                self._work,
                action,
                artifact=artifact.name,
                path=self._step.path,
                size_bytes=self._step.allocated_bytes,
                reason=self._reason,
                operation=self._operation,
                evidence=evidence,
            )

    def _back_to_live(
        self,
        artifact: Artifact,
        replica: Replica,
        action: AuditAction,
        why: str,
        *,
        evidence: tuple[Evidence, ...] = (),
    ) -> None:
        event = JournalEvent.RESTORED if action is AuditAction.QUARANTINE_PUT_BACK else JournalEvent.ABANDONED
        with self._work.catalog.writing(self._work.actor, self._work.clock()) as writing:
            state = ReplicaState.QUARANTINING
            if event is JournalEvent.RESTORED:  # it was away: the generation shows it
                writing.change_state(replica.replica_id, expected={state}, to=ReplicaState.QUARANTINED)
                state = ReplicaState.QUARANTINED
            writing.change_state(replica.replica_id, expected={state}, to=ReplicaState.LIVE)
            writing.update_operation(self._operation, state=event)
            record(
                writing,
                self._work,
                action,
                artifact=artifact.name,
                path=self._step.path,
                reason=why,
                operation=self._operation,
                evidence=evidence,
            )

    def _note(self, artifact: Artifact, replica: Replica, evidence: tuple[Evidence, ...]) -> ManifestNote:
        step = self._step
        return ManifestNote(
            operation=self._operation,
            target=target_of(replica),
            name=artifact.name,
            kind=artifact.kind.value,
            identity=step.identity,
            fingerprint=step.fingerprint,
            allocated_bytes=step.allocated_bytes,
            root_id=replica.root.root_id,
            catalog_id=self._work.catalog.lineage_id,
            reason=self._reason,
            actor=self._work.actor,
            evidence_json=canonical_json({"evidence": evidence_payload(evidence)}),
            at=self._work.clock(),
        )

    def _clearance(self, replica: Replica, evidence: tuple[Evidence, ...]) -> Clearance:
        now = self._work.clock()
        return Clearance(
            operation=self._operation,
            replica_id=replica.replica_id,
            fingerprint=self._step.fingerprint,
            evidence=evidence,
            granted_at=now,
            expires_at=now + CLEARANCE_LIFETIME,
        )

    def _not_set_aside(self, outcome: SetAside) -> StepResult:
        if outcome is SetAside.ABSENT:
            return self._ended(StepOutcome.ALREADY_ABSENT, detail="nothing is at the path any more")
        if outcome is SetAside.REPLACED:
            return self._refused(self._stale("another file or folder took its place while we were looking"))
        if outcome is SetAside.IN_USE:
            reason = "somebody opened the file while we were looking (the kernel refused a write lease)"
            return self._refused((Evidence(guard="not_held", verdict=Verdict.BLOCKED, reason=reason),))
        return self._ended(StepOutcome.FAILED, detail=_FAILURES[outcome])

    def _stale(self, reason: str) -> tuple[Evidence, ...]:
        return (Evidence(guard="unchanged", verdict=Verdict.BLOCKED, reason=reason, remedy="make a new plan"),)

    def _refused(self, evidence: tuple[Evidence, ...]) -> StepResult:
        return self._ended(StepOutcome.REFUSED, evidence=evidence)

    def _ended(
        self,
        outcome: StepOutcome,
        *,
        evidence: tuple[Evidence, ...] = (),
        detail: str = "",
        grace_until: datetime | None = None,
    ) -> StepResult:
        return StepResult(
            name=self._step.name,
            outcome=outcome,
            operation=self._operation,
            path=self._step.path,
            evidence=evidence,
            detail=detail,
            allocated_bytes=self._step.allocated_bytes,
            grace_until=grace_until,
        )


def _as_evidence(refusal: Refused) -> Evidence:
    return Evidence(
        guard="unchanged", verdict=Verdict.BLOCKED, reason=refusal.message, remedy=refusal.remedy or "make a new plan"
    )
