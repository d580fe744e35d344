"""Copies of artifacts in object stores: what is known of them, and what was proven."""

from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.artifacts import ReplicaState


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveCopy:
    """One copy in an object store, under `url`; `archiving` until all of it was read back, then `archived`.

    `fingerprint` tells by which objects it was seen when it was verified: their keys, sizes, tags and times. `manifest`
    is the SHA-256 in hex of the manifest object, which says what every member is. `source_fingerprint` is what it was
    made from; `content_digest` that of the artifact then. `stored_bytes` is what it takes there.
    """

    archive_id: int
    artifact_id: int
    url: str
    codec: str
    state: ReplicaState
    files: int
    size_bytes: int
    stored_bytes: int
    source_fingerprint: str
    content_digest: str
    manifest: str
    fingerprint: str
    begun_at: datetime
    verified_at: datetime | None = None

    @property
    def is_verified(self) -> bool:
        """Whether all of it was read back and was the same."""
        return self.state is ReplicaState.ARCHIVED and self.verified_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedObject:
    """One member of such a copy that was read back: SHA-256 in hex of its bytes, and of them as they are stored."""

    number: int
    digest: str
    stored_digest: str
    stored_bytes: int
