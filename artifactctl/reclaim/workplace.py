"""What the acting half of the engine works with: catalog, machine, policy, clock, and somebody who listens."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from artifactctl import audit
from artifactctl.archiving.presence import archives_there
from artifactctl.catalog import Catalog, Reading, Writing
from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import Artifact, Replica, Root
from artifactctl.domain.attestation import Statement
from artifactctl.domain.audit import AuditAction, AuditEntry
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.errors import ArtifactctlError, HostFailure, Refused
from artifactctl.domain.observation import ClientLook, Observation
from artifactctl.domain.roles import Act
from artifactctl.domain.verdicts import Evidence
from artifactctl.guards import Guard, standard_guards
from artifactctl.hosts.protocol import Host, RootLock
from artifactctl.inventory.attesting import statements_for
from artifactctl.inventory.candidates import Trust, trust_here
from artifactctl.inventory.clients import Clients
from artifactctl.inventory.kinship import Freshness, proofs_to_look_at
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.targets import require_recorded_volume
from artifactctl.inventory.writers import who_may_write, who_may_write_elsewhere, why_nobody_knows
from artifactctl.policy.ruleset import Policy
from artifactctl.reclaim.survey import CatalogStamp, look_at_proof
from artifactctl.report.evidence import evidence_payload

CLEARANCE_LIFETIME = timedelta(minutes=5)
"""How long a clear look may be acted on; between look and rename lie milliseconds unless somebody froze us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Everything an operation needs. `say` receives one sentence per event; `should_stop` is polled between steps.

    `host` is the one machine that is worked on; `elsewhere` gives the machine of a root that lies on another one, for
    looking at what a decision rests on; `clients` leads to the machines that mount a volume as well.
    `policy_files` are name and text of the policy files that were named for this run, which plans keep.
    """

    catalog: Catalog
    host: Host
    policy: Policy
    actor: str
    clock: Callable[[], datetime]
    new_operation: Callable[[], str]
    say: Callable[[str], None] = field(default=lambda sentence: None)
    should_stop: Callable[[], bool] = field(default=lambda: False)
    progress: Callable[[int, int], None] | None = None
    guards: tuple[Guard, ...] = field(default_factory=standard_guards)
    policy_files: tuple[tuple[str, str], ...] = ()
    elsewhere: Callable[[Reading, Root], Host] = field(default=lambda reading, root: _nobody(root))
    clients: Clients = field(default_factory=Clients)

    @property
    def stamp(self) -> CatalogStamp:
        """Which catalog acts."""
        return CatalogStamp(lineage_id=self.catalog.lineage_id, epoch=self.catalog.epoch)

    def require(self, act: Act, *, about: str = "") -> None:
        """Refuse, audited, what takes a role that whoever acts does not have, before anything is done."""
        self.catalog.require(act, self.actor, self.clock(), about=about)

    def trust(self, reading: Reading) -> Trust:
        """Return what can be relied on now."""
        return trust_here(self.host, reading, now=self.clock())

    def fresh(self, reading: Reading, subjects: Iterable[tuple[Artifact, Replica]]) -> Freshness:
        """Look at every replica that decisions about `subjects` rest on, each once: is it whole, who could write to it.

        Only what the proof needs is looked at (`Host.contents`).
        """
        wanted: dict[int, Replica] = {}
        archives: dict[int, tuple[str, ArchiveCopy]] = {}
        for artifact, replica in subjects:
            stored = reading.archives(artifact_ids=(artifact.artifact_id,))
            archives.update({copy.archive_id: (artifact.name, copy) for copy in stored if copy.is_verified})
            wanted.update({r.replica_id: r for r in proofs_to_look_at(reading, artifact, replica)})
        here = {root.root_id for root in roots_here(reading, self.host.identify())}
        prints, doubts = {}, {}
        for replica_id, replica in wanted.items():
            if not replica.root.is_managed:
                doubts[replica_id] = f"its copy in `{replica.root.name}` counts no more, since that root was forgotten"
                continue
            try:
                proof = self._proof(reading, replica, is_here=replica.root.root_id in here)
            except HostFailure as failure:  # not knowing is no proof
                if replica.root.root_id in here:
                    raise
                doubts[replica_id] = f"its copy on `{replica.root.name}` cannot be looked at: {failure.message}"
                continue
            if proof.doubt:
                doubts[replica_id] = proof.doubt
            if proof.fingerprint:
                prints[replica_id] = proof.fingerprint
        there, archive_doubts = archives_there(archives.values(), catalog_id=self.catalog.lineage_id)
        return Freshness(fingerprints=prints, doubts=doubts, archives=there, archive_doubts=archive_doubts)

    def proof_of(self, reading: Reading, replica: Replica) -> "Proof":
        """Look at one replica, on whichever machine it lies; HostFailure when that cannot be asked."""
        here = {root.root_id for root in roots_here(reading, self.host.identify())}
        return self._proof(reading, replica, is_here=replica.root.root_id in here)

    def _proof(self, reading: Reading, replica: Replica, *, is_here: bool) -> "Proof":
        host = self.host if is_here else self._other(reading, replica.root)
        seen = look_at_proof(host, reading, replica)
        if seen is None:
            return Proof()
        statement = statements_for(reading, host.identify()).get(replica.root.root_id)
        elsewhere = self._writers_elsewhere(replica, seen, statement)
        writing = who_may_write(seen.writers) or who_may_write_elsewhere(elsewhere)
        doubt = writing or why_nobody_knows(seen.writers, statement, elsewhere)
        return Proof(fingerprint="" if writing else seen.fingerprint, doubt=doubt)

    def _other(self, reading: Reading, root: Root) -> Host:
        """Return the machine of a root elsewhere, HostFailure when it is not there as it was recorded."""
        try:
            host = self.elsewhere(reading, root)
            require_recorded_volume(host, root, catalog_id=self.catalog.lineage_id)
        except ArtifactctlError as failure:
            raise HostFailure(failure.message, remedy=failure.remedy) from failure
        return host

    def asked_everywhere(self, reading: Reading, root: Root, seen: Observation) -> Observation:
        """Return the observation with what the other machines say that are stated to mount the root's volume."""
        statement = statements_for(reading, self.host.identify()).get(root.root_id)
        if statement is None or not statement.elsewhere or seen.tree is None:
            return seen
        catalog_id = self.catalog.lineage_id
        return replace(seen, clients=self.clients.users_of(statement.elsewhere, root, seen, catalog_id=catalog_id))

    def _writers_elsewhere(
        self, replica: Replica, seen: ContentLook, statement: Statement | None
    ) -> tuple[ClientLook, ...]:
        if statement is None:
            return ()
        return self.clients.writers_to(
            statement.elsewhere, replica.root, replica.relative, seen, catalog_id=self.catalog.lineage_id
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a look at a replica came to: "" where it is not there whole, or somebody was seen writing to it."""

    fingerprint: str = ""
    doubt: str = ""


def _nobody(root: Root) -> Host:
    raise HostFailure(f"nobody connects to the machine of the root `{root.name}` here")


def record(
    writing: Writing,
    workplace: Workplace,
    action: AuditAction,
    *,
    artifact: str,
    path: bytes,
    size_bytes: int | None = None,
    reason: str = "",
    operation: str = "",
    evidence: tuple[Evidence, ...] = (),
) -> None:
    """Append one audit event in the transaction at hand (invariant I10)."""
    audit.append(
        writing.connection,
        AuditEntry(
            at=workplace.clock(),
            actor=workplace.actor,
            host=workplace.host.identify().hostname,
            action=action,
            artifact=artifact,
            path=path,
            bytes=size_bytes,
            reason=reason,
            operation=operation,
            policy_digest=workplace.policy.digest,
            evidence=evidence_payload(evidence),
        ),
    )


def must_hold(lock: RootLock, root: Root) -> None:
    """Raise unless the root's lock is still ours: a frozen process may have lost it."""
    if not lock.still_held():
        raise Refused(
            f"the lock of root `{root.name}` is no longer ours: somebody else took it over, or the machine was lost; "
            "nothing more is done",
            remedy="look with `artifactctl doctor`, then run the command again",
        )
