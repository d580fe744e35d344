"""What can be changed in the catalog, within one short transaction that is the only one of its kind.

The caller audits in the same transaction: `audit.append(writing.connection, entry)`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from artifactctl.catalog import (
    archive_records,
    artifact_changes,
    identity_changes,
    lineage_changes,
    members,
    place_changes,
    promise_changes,
    replica_changes,
    role_changes,
    root_leases,
    work_changes,
)
from artifactctl.catalog.artifact_changes import Pairs
from artifactctl.catalog.members import Member
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.archives import ArchiveCopy, ArchivedObject
from artifactctl.domain.artifacts import (
    Artifact,
    ArtifactKind,
    Hold,
    Lease,
    LineageRole,
    Replica,
    ReplicaState,
    Reservation,
    Root,
    Run,
    RunState,
    VerifyLevel,
)
from artifactctl.domain.ledger import KnownHost, KnownVolume, Operation, PlanState, RootLease, SavedPlan
from artifactctl.domain.operations import JournalEvent
from artifactctl.domain.roles import Grant, Role, Subject
from artifactctl.domain.uptime import Uptime


class Writing(Transaction, Reading):
    """One transaction by `actor` at `now`; everything in it happens, or nothing does."""

    # who may

    def grant_role(self, role: Role, subject: Subject, *, reason: str) -> tuple[Grant, ...]:
        """Grant a role; returns the grants made, of which the first ever also lets its maker administer."""
        return role_changes.grant_role(self, role, subject, reason)

    def revoke_role(self, role: Role, subject: Subject, *, reason: str) -> tuple[Grant, ...]:
        """Revoke a role; LastAdministrator when its maker could not change roles any more."""
        return role_changes.revoke_role(self, role, subject, reason)

    # which catalog it is

    def raise_epoch(self, epoch: int) -> None:
        """Set a higher epoch; the lineage counts as unconfirmed from then on. StateChanged when it is not higher."""
        identity_changes.raise_epoch(self, epoch)

    def move(self, to: str) -> None:
        """Record where the catalog went as a whole; nothing is changed here after this transaction."""
        identity_changes.move(self, to)

    def confirm_lineage(self) -> None:
        """Record that a person stands behind this catalog."""
        identity_changes.confirm_lineage(self)

    # machines and places

    def add_host(
        self,
        name: str,
        *,
        machine_id: str,
        address: str = "",
        host_key: str = "",
        uses_sudo: bool = False,
        own_keys: Sequence[str] = (),
    ) -> KnownHost:
        """Record a machine; NameTaken when the name is another's."""
        return place_changes.add_host(
            self,
            name,
            machine_id=machine_id,
            address=address,
            host_key=host_key,
            uses_sudo=uses_sudo,
            own_keys=own_keys,
        )

    def note_own_keys(self, host_id: int, own_keys: Sequence[str]) -> KnownHost:
        """Record by which keys a machine's own sshd proves who it is."""
        return place_changes.note_own_keys(self, host_id, own_keys)

    def give_address(self, host_id: int, *, address: str, host_key: str, uses_sudo: bool) -> KnownHost:
        """Record the way to a machine that had none."""
        return place_changes.give_address(self, host_id, address=address, host_key=host_key, uses_sudo=uses_sudo)

    def forget_host(self, host_id: int) -> None:
        """End the record of a machine; StateChanged while a root in use is on it."""
        place_changes.forget_host(self, host_id)

    def remember_host(self, host_id: int, *, address: str, uses_sudo: bool) -> KnownHost:
        """Take a forgotten machine back, which is reached in this way now."""
        return place_changes.remember_host(self, host_id, address=address, uses_sudo=uses_sudo)

    def add_root(self, root: Root) -> Root:
        """Record a managed root, or take a forgotten one back; NameTaken when another root has the name."""
        return place_changes.add_root(self, root)

    def update_root(self, root: Root) -> Root:
        """Record a root's new path, filesystem or attestation."""
        return place_changes.update_root(self, root)

    def forget_root(self, root_id: str) -> None:
        """Stop managing a root; StateChanged while operations on it are unfinished. Its rows stay."""
        place_changes.forget_root(self, root_id)

    def take_root(self, root_id: str, *, machine_id: str, above: int = 0) -> RootLease:
        """Take the right to change a root with a new, highest fence; the caller holds the root's lock on the machine.

        Busy when an operator on another machine has it and is at work.
        """
        return root_leases.take(self, root_id, machine_id=machine_id, above=above)

    def give_root_back(self, root_id: str, fence: int) -> None:
        """Release that right; nothing happens when somebody else has it by now."""
        root_leases.release(self, root_id, fence)

    def record_volume(self, volume: KnownVolume) -> None:
        """Record a filesystem as it was just seen."""
        place_changes.record_volume(self, volume)

    # artifacts

    def add_artifact(
        self,
        name: str,
        kind: ArtifactKind,
        *,
        created_at: datetime | None = None,
        tokens: int | None = None,
        records: int | None = None,
        content_digest: str = "",
        sealed: bool = True,
        labels: Pairs = (),
        details: Pairs = (),
    ) -> Artifact:
        """Record an artifact. A name whose last bearer is gone for good may be taken again; else NameTaken."""
        return artifact_changes.add_artifact(
            self,
            name,
            {
                "kind": kind.value,
                "created_at": created_at or self.now,
                "tokens": tokens,
                "records": records,
                "content_digest": content_digest,
                "sealed": sealed,
                "labels": artifact_changes.as_pairs(labels),
                "details": artifact_changes.as_pairs(details),
            },
        )

    def update_artifact(  # noqa: PLR0913  as above
        self,
        artifact_id: int,
        *,
        name: str | None = None,
        kind: ArtifactKind | None = None,
        created_at: datetime | None = None,
        tokens: int | None = None,
        records: int | None = None,
        content_digest: str | None = None,
        sealed: bool | None = None,
        labels: Pairs | None = None,
        details: Pairs | None = None,
    ) -> Artifact:
        """Change the facts that are given; `labels` and `details` replace all that were there."""
        given = {
            "kind": kind.value if kind else None,
            "created_at": created_at,
            "tokens": tokens,
            "records": records,
            "content_digest": content_digest,
            "sealed": sealed,
            "labels": None if labels is None else artifact_changes.as_pairs(labels),
            "details": None if details is None else artifact_changes.as_pairs(details),
        }
        changes = {key: value for key, value in given.items() if value is not None}
        return artifact_changes.update_artifact(self, artifact_id, name, changes)

    def set_members(self, artifact_id: int, listing: Iterable[Member]) -> None:
        """Replace the catalogued members by (relative path, `f`/`l`/`o`, size, tokens or None), in any order.

        For more than some thousand members list them beforehand with `Catalog.list_members` and adopt that: this
        transaction keeps every other writer waiting.
        """
        members.set_members(self, artifact_id, listing)

    def adopt_members(self, artifact_id: int, list_id: int) -> None:
        """Make a list from `Catalog.list_members` the artifact's members."""
        members.adopt(self, artifact_id, list_id)

    def set_digests(self, artifact_id: int, digests: Iterable[tuple[bytes, bytes]]) -> int:
        """Record (relative path, digest) of members; return how many of them are catalogued members."""
        return members.set_digests(self.connection, artifact_id, digests)

    def add_measurement(
        self, artifact_id: int, metric: str, value: float, *, source: str = "", measured_at: datetime | None = None
    ) -> None:
        """Record a number about an artifact; the newest of a metric is the one an artifact shows."""
        artifact_changes.add_measurement(self, artifact_id, metric, value, source, measured_at or self.now)

    # lineage

    def add_lineage(self, child_id: int, parent_id: int, role: LineageRole) -> None:
        """Record that the child came from the parent, or needs it; LineageCycle when it would come from itself."""
        lineage_changes.add_lineage(self, child_id, parent_id, role)

    def supersede(self, old_id: int, new_id: int) -> None:
        """Record that the new artifact takes the old one's place."""
        lineage_changes.supersede(self, old_id, new_id)

    # copies

    def add_replica(  # noqa: PLR0913  a copy has this many facts, each given by name
        self,
        artifact_id: int,
        root_id: str,
        relative: bytes,
        *,
        is_directory: bool,
        files: int,
        apparent_bytes: int,
        allocated_bytes: int,
        member_digest: str,
        fingerprint: str,
        observed_at: datetime,
        state: ReplicaState = ReplicaState.LIVE,
    ) -> Replica:
        """Record a copy below a root; PathTaken when another artifact lives at exactly this path."""
        facts = {
            "is_directory": is_directory,
            "files": files,
            "apparent_bytes": apparent_bytes,
            "allocated_bytes": allocated_bytes,
            "member_digest": member_digest,
            "fingerprint": fingerprint,
            "observed_at": observed_at,
        }
        return replica_changes.add_replica(self, artifact_id, root_id, relative, state, facts)

    def record_replica(
        self,
        replica_id: int,
        *,
        files: int,
        apparent_bytes: int,
        allocated_bytes: int,
        member_digest: str,
        fingerprint: str,
        observed_at: datetime,
    ) -> Replica:
        """Record what a copy is now: an accepted drift, or a first complete look."""
        facts = {
            "files": files,
            "apparent_bytes": apparent_bytes,
            "allocated_bytes": allocated_bytes,
            "member_digest": member_digest,
            "fingerprint": fingerprint,
            "observed_at": observed_at,
        }
        return replica_changes.record_replica(self, replica_id, facts)

    def change_state(
        self,
        replica_id: int,
        *,
        expected: Collection[ReplicaState],
        to: ReplicaState,
        relative: bytes | None = None,
    ) -> None:
        """Compare and set; StateChanged when the replica is in no expected state. `relative`: it moved to that path.

        Raises the generation on quarantine and on coming back to life from one; one that was announced and
        never happened (`quarantining` to `live`) changes nothing.
        """
        replica_changes.change_state(self, replica_id, expected=expected, to=to, relative=relative)

    def set_verified(
        self,
        replica_id: int,
        level: VerifyLevel,
        fingerprint: str,
        *,
        ok: bool,
        problems: Sequence[str] = (),
        at: datetime | None = None,
    ) -> None:
        """Record a verification; a failed one takes away what an earlier one gave."""
        replica_changes.set_verified(self, replica_id, level, fingerprint, ok=ok, problems=problems, at=at or self.now)

    def begin_archive(
        self, artifact_id: int, url: str, *, codec: str, files: int, size_bytes: int, source_fingerprint: str
    ) -> ArchiveCopy:
        """Record a copy that is about to be made in an object store; it counts for nothing yet."""
        facts = {
            "artifact_id": artifact_id,
            "url": url,
            "codec": codec,
            "files": files,
            "size_bytes": size_bytes,
            "source_fingerprint": source_fingerprint,
        }
        return archive_records.begin(self, facts)

    def add_archived_objects(self, archive_id: int, added: Iterable[ArchivedObject]) -> None:
        """Record members of such a copy that were read back."""
        archive_records.add_objects(self, archive_id, added)

    def finish_archive(
        self, archive_id: int, *, stored_bytes: int, content_digest: str, manifest: str, fingerprint: str
    ) -> ArchiveCopy:
        """Call such a copy archived and verified; StateChanged when it is not being made any more."""
        facts = {
            "stored_bytes": stored_bytes,
            "content_digest": content_digest,
            "manifest": manifest,
            "fingerprint": fingerprint,
            "verified_at": self.now,
        }
        states = {"expected": ReplicaState.ARCHIVING, "to": ReplicaState.ARCHIVED}
        return archive_records.change(self, archive_id, **states, facts=facts)

    def change_archive(self, archive_id: int, *, expected: ReplicaState, to: ReplicaState) -> ArchiveCopy:
        """Compare and set the state of such a copy; StateChanged when it is another by now."""
        return archive_records.change(self, archive_id, expected=expected, to=to, facts={})

    def abandon_archive(self, archive_id: int) -> ArchiveCopy:
        """Record that nothing came of a copy that was being made."""
        states = {"expected": ReplicaState.ARCHIVING, "to": ReplicaState.GONE}
        return archive_records.change(self, archive_id, **states, facts={})

    def record_sighting(self, replica_id: int, summary: Mapping[str, Any], *, observed_at: datetime) -> None:
        """Record what an observation of a replica came to."""
        replica_changes.record_sighting(self, replica_id, summary, observed_at)

    # promises

    def grant_lease(
        self,
        artifact_id: int,
        *,
        owner: str,
        host: str,
        expires_at: datetime,
        pid: int | None = None,
        pid_started: str = "",
        command: str = "",
    ) -> Lease:
        """Promise that the artifact stays; StateChanged when no copy of it is live or being built."""
        process = {"host": host, "pid": pid, "pid_started": pid_started, "command": command}
        return promise_changes.grant_lease(self, artifact_id, owner, expires_at, process)

    def renew_lease(self, lease_id: str, *, owner: str, expires_at: datetime) -> Lease:
        """Extend a lease that is still in force; LeaseLost otherwise."""
        return promise_changes.renew_lease(self, lease_id, owner, expires_at)

    def release_lease(self, lease_id: str, *, owner: str) -> None:
        """Give a lease back; giving back one that is over changes nothing. LeaseLost when it is somebody else's."""
        promise_changes.release_lease(self, lease_id, owner)

    def break_lease(self, lease_id: str, *, reason: str) -> None:
        """End somebody's lease. The caller has proven that its holder is gone."""
        promise_changes.break_lease(self, lease_id, reason)

    def place_hold(
        self,
        artifact_id: int,
        *,
        reason: str,
        until: datetime | None = None,
        placed_by: str = "",
        placed_at: datetime | None = None,
    ) -> Hold:
        """Keep the artifact until the hold is released; `placed_by` and `placed_at` are those of a hold found again."""
        return promise_changes.place_hold(
            self, artifact_id, reason, until, placed_by or self.actor, placed_at or self.now
        )

    def release_hold(self, hold_id: int, *, reason: str) -> None:
        """Release a hold; StateChanged when it was released before."""
        promise_changes.release_hold(self, hold_id, reason)

    def reserve(
        self,
        filesystem_uuid: str,
        *,
        host_id: int,
        path: bytes,
        reserved_bytes: int,
        purpose: str,
        expires_at: datetime,
    ) -> Reservation:
        """Promise bytes on a filesystem. The caller has seen in this transaction that they are there."""
        return promise_changes.reserve(
            self,
            {
                "filesystem_uuid": filesystem_uuid,
                "host_id": host_id,
                "path": path,
                "reserved_bytes": reserved_bytes,
                "purpose": purpose,
                "expires_at": expires_at,
            },
        )

    def fill_reservation(self, reservation_id: str, *, filled_bytes: int) -> None:
        """Record how much of a reservation is written by now."""
        promise_changes.fill_reservation(self, reservation_id, filled_bytes)

    def release_reservation(self, reservation_id: str) -> None:
        """Give a reservation back; StateChanged when it was given back before."""
        promise_changes.release_reservation(self, reservation_id)

    # runs, plans, operations

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


def _uptime_columns(uptime: Uptime | None) -> dict[str, Any]:
    if uptime is None:
        return {}
    return {
        "aside_machine_id": uptime.machine_id,
        "aside_boot_id": uptime.boot_id,
        "aside_uptime_us": uptime.since_boot // timedelta(microseconds=1),
    }
