"""Changes of artifacts, their members and lineage, their copies and archives."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from artifactctl.catalog import (
    archive_records,
    artifact_changes,
    lineage_changes,
    members,
    replica_changes,
)
from artifactctl.catalog.artifact_changes import Pairs
from artifactctl.catalog.members import Member
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.archives import ArchiveCopy, ArchivedObject
from artifactctl.domain.artifacts import (
    Artifact,
    ArtifactKind,
    LineageRole,
    Replica,
    ReplicaState,
    VerifyLevel,
)


class ArtifactWriting(Transaction):
    """Artifacts, members, lineage, copies, archives."""

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
