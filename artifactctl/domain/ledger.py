"""What the catalog remembers about machines, plans and acts, beside the artifacts themselves."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from artifactctl.domain.accounts import Signature
from artifactctl.domain.artifacts import VerifyLevel
from artifactctl.domain.operations import JournalEvent
from artifactctl.domain.uptime import Uptime


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogIdentity:
    """Which catalog it is. `lineage_id` is drawn once; `epoch` is raised whenever a backup takes a catalog's place.

    `revision` is raised by every write. `lineage_confirmed_at` is None from a restore until a person confirms it.
    `moved_to` says where the catalog went as a whole, "" when it is still here.
    """

    lineage_id: str
    epoch: int
    revision: int
    created_at: datetime
    written_at: datetime
    lineage_confirmed_at: datetime | None
    moved_to: str = ""

    @property
    def is_confirmed(self) -> bool:
        """Whether what this catalog says about lineage and holds can be relied on."""
        return self.lineage_confirmed_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RootLease:
    """The right to change what lies below a root, as it was last taken. The `fence` grows with every taking.

    `machine_id` is the machine on which the root was locked, `holder` the actor who did.
    """

    root_id: str
    root_name: str
    fence: int
    machine_id: str
    holder: str
    taken_at: datetime
    expires_at: datetime
    released_at: datetime | None

    def is_in_force(self, now: datetime) -> bool:
        """Whether its holder may still be at work."""
        return self.released_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHost:
    """A machine the catalog knows. `address` is "" for the machine the catalog was made on, else `ssh://user@host`.

    A machine is identified by `host_key` and `machine_id` together; equal machine ids alone never merge two.
    `own_keys` (`type base64`) are those that its sshd has by what it said of itself when a command was typed on it.
    `forgotten_at` is None while it is worked with.
    """

    host_id: int
    name: str
    machine_id: str
    address: str = ""
    host_key: str = ""
    uses_sudo: bool = False
    forgotten_at: datetime | None = None
    own_keys: tuple[str, ...] = ()

    def proves_to_be(self, machine_id: str, host_key: str) -> bool:
        """Whether a machine that proved to have a key is this one, to which nobody had a way until now."""
        return not self.address and self.machine_id == machine_id and host_key in self.own_keys

    def may_be(self, other: "KnownHost") -> bool:
        """Whether both may be one machine, so that what lies on one is not kept by what lies on the other.

        Equal ids may come from a copied image: only two different ssh keys say that they are two.
        """
        if self.host_id == other.host_id:
            return True
        if self.machine_id != other.machine_id:
            return False
        return not (self.host_key and other.host_key) or self.host_key == other.host_key


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVolume:
    """A filesystem as last seen on a machine."""

    filesystem_uuid: str
    host_id: int
    mount: bytes
    filesystem_type: str
    device: str
    size_bytes: int
    seen_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One removal of one replica as the catalog tells it; `state` is the last event known of its journal.

    `original` and `placed` are relative to the root. `measured_freed_bytes` is None until something was measured.
    `grace_until` is None where the grace never ends (`kept`). `aside_since` is how long its machine had been up at
    `started_at`, None where that was not recorded.
    """

    operation_id: str
    artifact_id: int
    artifact_name: str
    replica_id: int
    root_id: str
    state: JournalEvent
    plan_digest: str
    step_index: int
    reason: str
    waivers: tuple[str, ...]
    actor: str
    original: bytes
    placed: bytes
    fingerprint: str
    expected_freed_bytes: int
    measured_freed_bytes: int | None
    grace_until: datetime | None
    started_at: datetime
    updated_at: datetime
    aside_since: Uptime | None = None


class PlanState(StrEnum):
    """The life of a saved plan; an `applying` one was begun and may be resumed."""

    SAVED = "saved"
    APPLYING = "applying"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """A plan as a value: `document` is its canonical JSON, `digest` what determines its steps (invariant I5).

    `used_steps` are the indexes of the steps that were begun; none of them can be begun again. `planner` is who vouched
    for having made it, None where it came from a file that nobody recorded as theirs.
    """

    digest: str
    document: str
    state: PlanState
    actor: str
    created_at: datetime
    expires_at: datetime
    used_steps: tuple[int, ...] = ()
    planner: Signature | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """How much one run, or one day, took: bytes allocated on disk, and copies of artifacts."""

    bytes: int = 0
    artifacts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's consent to one plan, by its digest."""

    digest: str
    actor: str
    reason: str
    approved_at: datetime
    database_user: str = ""

    @property
    def signature(self) -> Signature:
        """Who gave it."""
        return Signature(actor=self.actor, database_user=self.database_user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """One verification of one replica: how deep it looked and what was wrong."""

    replica_id: int
    level: VerifyLevel
    ok: bool
    problems: tuple[str, ...]
    fingerprint: str
    verified_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A number somebody measured about an artifact, and where it came from."""

    artifact_id: int
    metric: str
    value: float
    source: str
    measured_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What one observation of a replica came to, as canonical JSON."""

    replica_id: int
    observed_at: datetime
    summary: str


class ShardLocation(NamedTuple):
    """A member file found by name; `relative` is its path below the artifact."""

    artifact_name: str
    relative: bytes
    size_bytes: int
    tokens: int | None
