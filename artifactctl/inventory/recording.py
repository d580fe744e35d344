"""Writes what a scan or a person says into the catalog, each change with its audit event in the same transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, TypedDict

from artifactctl import audit
from artifactctl.catalog import Catalog, NameTaken, Writing
from artifactctl.catalog.members import Member
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.audit import AuditAction, AuditEntry, JsonValue
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.observation import MemberDrift
from artifactctl.inventory.naming import numbered
from artifactctl.inventory.tallies import KnownCopy, Measured
from artifactctl.recognition.sightings import Sighting

LISTED_BEFOREHAND = 2000
"""From so many members on they are listed in short transactions before the artifact is recorded."""

_MOST_NAMES_TRIED = 1000
_MOST_PROBLEMS_KEPT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArtifact:
    """An artifact to be recorded. `members` are in `member_order`; a single file's one member has an empty path."""

    name: str
    sighting: Sighting
    measured: Measured
    members: Iterable[Member]
    member_count: int
    unfinished: bool


class CopyFacts(TypedDict):
    """What the catalog keeps about a copy's content."""

    files: int
    apparent_bytes: int
    allocated_bytes: int
    member_digest: str
    fingerprint: str


class Recorder(Protocol):
    """Where the outcomes of a scan go."""

    def register(self, new: Sequence[NewArtifact]) -> tuple[str, ...]:
        """Record artifacts; return the names they got."""
        ...

    def replace_members(
        self, known: KnownCopy, new: NewArtifact, *, action: AuditAction, drift: MemberDrift | None
    ) -> None:
        """Record what a copy is now: it grew, or a person accepted its drift."""
        ...

    def refresh(self, known: KnownCopy, measured: Measured) -> None:
        """Record that the members are the same, but were touched."""
        ...

    def change_state(self, known: KnownCopy, *, to: ReplicaState, action: AuditAction) -> None:
        """Record that a copy vanished or turned up again."""
        ...


class NobodyRecords:
    """For a look that writes nothing."""

    def register(self, new: Sequence[NewArtifact]) -> tuple[str, ...]:
        return tuple(item.name for item in new)

    def replace_members(
        self, known: KnownCopy, new: NewArtifact, *, action: AuditAction, drift: MemberDrift | None
    ) -> None:
        return None

    def refresh(self, known: KnownCopy, measured: Measured) -> None:
        return None

    def change_state(self, known: KnownCopy, *, to: ReplicaState, action: AuditAction) -> None:
        return None


class CatalogRecorder:
    """Records below one root."""

    def __init__(self, catalog: Catalog, root: Root, *, hostname: str, actor: str, now: datetime) -> None:
        self._catalog = catalog
        self._root = root
        self.hostname = hostname
        self._actor = actor
        self._now = now

    def register(self, new: Sequence[NewArtifact]) -> tuple[str, ...]:
        lists = [self.list_beforehand(item) for item in new]
        with self._catalog.writing(self._actor, self._now) as writing:
            return tuple(self._add(writing, item, listed) for item, listed in zip(new, lists, strict=True))

    def add_in(self, writing: Writing, item: NewArtifact, listed: int | None, *, labels: dict[str, str]) -> Artifact:
        """Record one artifact within the caller's transaction, under exactly its name."""
        sighting = item.sighting
        artifact = writing.add_artifact(
            item.name,
            sighting.kind,
            tokens=sighting.tokens,
            records=sighting.records,
            sealed=not item.unfinished,
            labels=labels,
            details=details_of(sighting),
        )
        self._give_members(writing, artifact.artifact_id, item, listed)
        for metric, value in sighting.metrics:
            writing.add_measurement(artifact.artifact_id, metric, value, source="scan")
        writing.add_replica(
            artifact.artifact_id,
            self._root.root_id,
            sighting.relative,
            is_directory=sighting.is_directory,
            observed_at=self._now,
            state=ReplicaState.BUILDING if item.unfinished else ReplicaState.LIVE,
            **facts_of(item.measured),
        )
        return artifact

    def audit_in(self, writing: Writing, action: AuditAction, name: str, relative: bytes, **facts: JsonValue) -> None:
        """Append an event about an artifact of this root within the caller's transaction."""
        bytes_concerned = facts.pop("allocated_bytes", None)
        reason = facts.pop("reason", "")
        audit.append(
            writing.connection,
            AuditEntry(
                at=writing.now,
                actor=writing.actor,
                host=self.hostname,
                action=action,
                artifact=name,
                path=ManagedPath(root=self._root.path, relative=relative).absolute,
                bytes=bytes_concerned if isinstance(bytes_concerned, int) else None,
                reason=str(reason),
                evidence=facts or None,
            ),
        )

    def _add(self, writing: Writing, item: NewArtifact, listed: int | None) -> str:
        named = _with_free_name(writing, item)
        self.add_in(writing, named, listed, labels={})
        self.audit_in(
            writing,
            AuditAction.ARTIFACT_REGISTER,
            named.name,
            named.sighting.relative,
            allocated_bytes=named.measured.allocated_bytes,
            reason="found by scan",
            kind=named.sighting.kind.value,
            layout=named.sighting.layout.value,
            files=named.measured.files,
            member_digest=named.measured.member_digest,
        )
        return named.name

    def replace_members(
        self, known: KnownCopy, new: NewArtifact, *, action: AuditAction, drift: MemberDrift | None
    ) -> None:
        listed = self.list_beforehand(new)
        artifact, replica = known.artifact, known.replica
        with self._catalog.writing(self._actor, self._now) as writing:
            self._give_members(writing, artifact.artifact_id, new, listed)
            writing.record_replica(replica.replica_id, observed_at=self._now, **facts_of(new.measured))
            writing.update_artifact(
                artifact.artifact_id,
                tokens=new.sighting.tokens,
                records=new.sighting.records,
                sealed=not new.unfinished,
                details=dict(artifact.details) | dict(details_of(new.sighting)),
            )
            if not new.unfinished and replica.state is ReplicaState.BUILDING:
                writing.change_state(replica.replica_id, expected=(ReplicaState.BUILDING,), to=ReplicaState.LIVE)
            self.audit_in(
                writing,
                action,
                artifact.name,
                replica.relative,
                allocated_bytes=new.measured.allocated_bytes,
                files=new.measured.files,
                files_before=replica.files,
                member_digest=new.measured.member_digest,
                strays=drift.strays if drift else 0,
                missing=drift.missing if drift else 0,
                resized=drift.resized if drift else 0,
            )

    def refresh(self, known: KnownCopy, measured: Measured) -> None:
        with self._catalog.writing(self._actor, self._now) as writing:
            writing.record_replica(known.replica.replica_id, observed_at=self._now, **facts_of(measured))

    def change_state(self, known: KnownCopy, *, to: ReplicaState, action: AuditAction) -> None:
        replica: Replica = known.replica
        with self._catalog.writing(self._actor, self._now) as writing:
            writing.change_state(replica.replica_id, expected=(replica.state,), to=to)
            self.audit_in(
                writing, action, known.artifact.name, replica.relative, allocated_bytes=replica.allocated_bytes
            )

    def list_beforehand(self, item: NewArtifact) -> int | None:
        """List the members of a large artifact in short transactions; None when they are few."""
        if item.member_count < LISTED_BEFOREHAND:
            return None
        return self._catalog.list_members(item.members, now=self._now)

    def _give_members(self, writing: Writing, artifact_id: int, item: NewArtifact, listed: int | None) -> None:
        if listed is None:
            writing.set_members(artifact_id, item.members)
        else:
            writing.adopt_members(artifact_id, listed)


def details_of(sighting: Sighting) -> tuple[tuple[str, str], ...]:
    """Return what is kept with the artifact: its layout, what recognition learnt, and what is wrong with it."""
    problems = "; ".join(sighting.problems[:_MOST_PROBLEMS_KEPT])
    return (("layout", sighting.layout.value), *sighting.details, ("problems", problems))


def facts_of(measured: Measured) -> CopyFacts:
    """Return what the catalog records of a copy."""
    return {
        "files": measured.files,
        "apparent_bytes": measured.apparent_bytes,
        "allocated_bytes": measured.allocated_bytes,
        "member_digest": measured.member_digest,
        "fingerprint": measured.fingerprint,
    }


def _with_free_name(writing: Writing, item: NewArtifact) -> NewArtifact:
    """Return the artifact under a name that no other one has."""
    for number in range(1, _MOST_NAMES_TRIED):
        name = item.name if number == 1 else numbered(item.name, number)
        bearer = writing.artifact(name)
        if bearer is None or (bearer.replicas and all(r.state is ReplicaState.GONE for r in bearer.replicas)):
            return replace(item, name=name)
    raise NameTaken(f"{item.name} and the names after it are taken", remedy="artifactctl register PATH --name NAME")
