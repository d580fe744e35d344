"""What the catalog knows: artifacts, replicas, roots, lineage, runs, and the promises made about them."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from artifactctl.domain.attestation import Regime


class ArtifactKind(StrEnum):
    """The kinds of artifact; `model` is a target model or a cache snapshot of one."""

    RESPONSE_SET = "response_set"
    MERGED_CORPUS = "merged_corpus"
    VOCAB_MAP = "vocab_map"
    HIDDEN_STATES = "hidden_states"
    CHECKPOINT = "checkpoint"
    DRAFT_MODEL = "draft_model"
    MODEL = "model"
    OTHER = "other"


class ReplicaState(StrEnum):
    """Where the bytes of a replica are in their life; only `live` counts as a copy, a successor or an input."""

    BUILDING = "building"
    LIVE = "live"
    QUARANTINING = "quarantining"
    QUARANTINED = "quarantined"
    PURGING = "purging"
    RESTORING = "restoring"
    ARCHIVING = "archiving"
    ARCHIVED = "archived"
    GONE = "gone"
    MISSING = "missing"


class LineageRole(StrEnum):
    """How a child came from its parent."""

    MERGED_FROM = "merged_from"
    EXTRACTED_FROM = "extracted_from"
    TRAINED_ON = "trained_on"
    SUPERSEDES = "supersedes"
    MAPPED_WITH = "mapped_with"
    RESUMED_FROM = "resumed_from"
    SNAPSHOT_OF = "snapshot_of"

    @property
    def needs_parent(self) -> bool:
        """Whether the child is useless without the parent (`resumed_from`: while its run is unfinished)."""
        return self in (LineageRole.MAPPED_WITH, LineageRole.RESUMED_FROM, LineageRole.SNAPSHOT_OF)


class VerifyLevel(StrEnum):
    """How deep a verification looked, ascending."""

    MEMBERS = "members"
    HEADERS = "headers"
    DIGESTS = "digests"


class RunState(StrEnum):
    """The life of one execution of a stage."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A managed root: `path` is absolute on its host; `root_id` also stands in the marker file on disk.

    `attestation` is what somebody stated, on record, about who else can open files: the text of an `Attestation`.
    `is_managed` is false once it was forgotten: what lies there is kept track of no more, and counts as nobody's copy.
    """

    root_id: str
    name: str
    host_id: int
    path: bytes
    filesystem_uuid: str
    filesystem_type: str
    inode: int
    attestation: str = ""
    is_managed: bool = True

    @property
    def is_marked(self) -> bool:
        """Whether artifactctl keeps a folder of its own there. Below one without it nothing is written or removed."""
        return self.attestation != Regime.READ_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One copy of an artifact at one path below one root. `generation` is raised by every quarantine and restore."""

    replica_id: int
    artifact_id: int
    root: Root
    relative: bytes
    state: ReplicaState
    generation: int
    is_directory: bool
    files: int
    apparent_bytes: int
    allocated_bytes: int
    member_digest: str
    fingerprint: str
    observed_at: datetime
    verified_at: datetime | None = None
    verified_level: VerifyLevel | None = None
    verified_fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A catalogued thing with identity and provenance; its rows stay after its bytes are gone (a tombstone)."""

    artifact_id: int
    name: str
    kind: ArtifactKind
    created_at: datetime
    tokens: int | None = None
    records: int | None = None
    content_digest: str = ""
    sealed: bool = True
    superseded_by: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    metrics: tuple[tuple[str, float], ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    replicas: tuple[Replica, ...] = field(default=())

    @property
    def is_live(self) -> bool:
        """Whether at least one copy is live or being built."""
        return any(r.state in (ReplicaState.LIVE, ReplicaState.BUILDING) for r in self.replicas)

    @property
    def allocated_bytes(self) -> int:
        """Bytes on disk over all copies whose bytes still exist."""
        return sum(
            r.allocated_bytes for r in self.replicas if r.state not in (ReplicaState.GONE, ReplicaState.ARCHIVED)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageEdge:
    """`child` was made from `parent` in the given role; `recorded_at` is when that was last said."""

    child_id: int
    parent_id: int
    role: LineageRole
    recorded_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of a stage. `cost_gpu_hours` and `cost_usd` are what it would cost to do it again."""

    run_id: int
    stage: str
    state: RunState
    command: str
    started_at: datetime | None
    finished_at: datetime | None
    duration_seconds: float | None
    cost_gpu_hours: float | None
    cost_usd: float | None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Someone uses the artifact until `expires_at`; `fence` grows with every lease; `owner` is random, never a pid."""

    lease_id: str
    artifact_id: int
    artifact_name: str
    owner: str
    host: str
    pid: int | None
    pid_started: str
    command: str
    granted_at: datetime
    expires_at: datetime
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Keep until released, with a reason. `until` passing opens a review; it never permits a deletion by itself."""

    hold_id: int
    artifact_id: int
    artifact_name: str
    reason: str
    actor: str
    placed_at: datetime
    until: datetime | None = None

    def review_is_due(self, now: datetime) -> bool:
        """Whether the date has passed at which somebody wanted to look at it again."""
        return self.until is not None and self.until <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Someone was promised `reserved_bytes` on the filesystem until `expires_at`; `filled_bytes` is already written."""

    reservation_id: str
    filesystem_uuid: str
    host_id: int
    path: bytes
    reserved_bytes: int
    filled_bytes: int
    purpose: str
    actor: str
    made_at: datetime
    expires_at: datetime
