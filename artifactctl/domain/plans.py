"""The reclaim plan: a value that says what would be removed, from where, on what evidence.

Invariant I5: the digest determines the steps. It covers what would be done, to which identities, under which policy and
waivers; the time, the actor and what the volume looked like stay outside, so that an unchanged world gives an unchanged
digest. The digest includes each replica's generation, which every quarantine and restore raises.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.identity import FileIdentity
from artifactctl.domain.verdicts import Evidence

PLAN_LIFETIME = timedelta(hours=24)
"""How long a plan may be applied after it was made (cli.md)."""


NAMED_BY_OPERATOR = ("by", "operator")
"""The fact by which the evidence of `in_policy` says that somebody named the artifact."""


class Bound(StrEnum):
    """Whether the predicted bytes will be freed exactly, or are the most that can be freed."""

    EXACT = "exact"
    UPPER = "upper"


class CapName(StrEnum):
    """What a limit counts; a day is a UTC day."""

    BYTES = "bytes"
    ARTIFACTS = "artifacts"
    BYTES_PER_DAY = "bytes_per_day"
    ARTIFACTS_PER_DAY = "artifacts_per_day"
    SHARE_OF_KIND = "share_of_kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """One limit over a whole plan and what the plan would use of it.

    `before` is the part of `used` that went earlier the same day. A share of a kind is counted in artifacts: of the
    `population` of living ones of `kind` at most `limit`.
    """

    name: CapName
    limit: int
    used: int
    before: int = 0
    kind: ArtifactKind | None = None
    population: int | None = None

    @property
    def is_daily(self) -> bool:
        """Whether it counts a whole day, not one run."""
        return self.name in (CapName.BYTES_PER_DAY, CapName.ARTIFACTS_PER_DAY)

    @property
    def exceeded(self) -> bool:
        """Whether the plan goes over the limit."""
        return self.used > self.limit

    @property
    def excess(self) -> int:
        """By how much the plan goes over the limit, 0 when it does not."""
        return max(0, self.used - self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimStep:
    """One replica that every guard has cleared (or a person has waived by name)."""

    name: str
    kind: ArtifactKind
    artifact_id: int
    replica_id: int
    generation: int
    root_id: str
    root_path: bytes
    relative: bytes
    filesystem_uuid: str
    identity: FileIdentity
    fingerprint: str
    files: int
    apparent_bytes: int
    allocated_bytes: int
    exclusive_bytes: int
    bound: Bound
    sibling: bool
    evidence: tuple[Evidence, ...]

    @property
    def was_named(self) -> bool:
        """Whether the operator named it, so that no rule of the policy has to offer it."""
        return any(item.guard == "in_policy" and NAMED_BY_OPERATOR in item.facts for item in self.evidence)

    @property
    def expected_freed_bytes(self) -> int:
        """Bytes that df will show more after its purge: what nothing shares but the steps before this one."""
        return self.exclusive_bytes

    @property
    def path(self) -> bytes:
        """The absolute path on the plan's machine."""
        return self.root_path.rstrip(b"/") + b"/" + self.relative


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One replica that stays, with all evidence (the blocking pieces among it) and what it would free if it went."""

    name: str
    path: bytes
    allocated_bytes: int
    exclusive_bytes: int
    bound: Bound
    evidence: tuple[Evidence, ...]

    @property
    def blocking(self) -> tuple[Evidence, ...]:
        """The evidence that keeps it."""
        return tuple(item for item in self.evidence if not item.permits_removal)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimPlan:
    """The removals proposed for one machine; see the module's docstring for what `digest` covers.

    `policy_files` are name and text of the policy files that were named for this run alone (`--policy`): with the
    configured policy below them they give `policy_digest` again. Of a folder (its name ends in `/`) the text is the
    names of its policy files: one that is added later makes the plan stale. `needs_approval` says why somebody other
    than `actor` must approve it; () when nobody must. It is asked again when the plan is applied. `host_key` is ""
    for a plan that was made on its machine itself.
    """

    catalog_id: str
    catalog_epoch: int
    machine_id: str
    hostname: str
    mount: bytes
    policy_name: str
    policy_digest: str
    policy_files: tuple[tuple[str, str], ...]
    waivers: tuple[str, ...]
    waiver_reason: str
    purge_now: bool
    grace: timedelta
    needs_approval: tuple[str, ...]
    steps: tuple[ReclaimStep, ...]
    refused: tuple[Refusal, ...]
    caps: tuple[Cap, ...]
    actor: str
    created_at: datetime
    expires_at: datetime
    available_before_bytes: int
    host_key: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 in hex over the canonical form of what would be done."""
        return hashlib.sha256(canonical_json(self._binding()).encode("ascii")).hexdigest()

    @property
    def elsewhere(self) -> str:
        """What stands before its paths for people: its machine, "" where it was made on that itself."""
        return self.hostname if self.host_key else ""

    @property
    def expected_freed_bytes(self) -> int:
        """Bytes freed when every step has been purged."""
        return sum(step.expected_freed_bytes for step in self.steps)

    @property
    def exceeded_caps(self) -> tuple[Cap, ...]:
        """The caps that refuse the whole run."""
        return tuple(cap for cap in self.caps if cap.exceeded)

    @property
    def roots(self) -> tuple[tuple[str, bytes], ...]:
        """The managed roots (id, path) the steps lie in, each once, in the order of first use."""
        return tuple(dict.fromkeys((step.root_id, step.root_path) for step in self.steps))

    def _binding(self) -> dict[str, object]:
        return {
            "catalog_id": self.catalog_id,
            "machine_id": self.machine_id,
            **({"host_key": self.host_key} if self.host_key else {}),  # plans without one keep the digest they had
            "policy_digest": self.policy_digest,
            "waivers": sorted(self.waivers),
            "waiver_reason": self.waiver_reason,
            "purge_now": self.purge_now,
            "grace_seconds": int(self.grace.total_seconds()),
            "steps": [_step_binding(step) for step in self.steps],
            "refused": [{"name": item.name, "guards": [e.guard for e in item.blocking]} for item in self.refused],
        }


def _step_binding(step: ReclaimStep) -> dict[str, object]:
    return {
        "name": step.name,
        "artifact_id": step.artifact_id,
        "replica_id": step.replica_id,
        "generation": step.generation,
        "root_id": step.root_id,
        "filesystem_uuid": step.filesystem_uuid,
        "relative": text_of(step.relative),
        "inode": step.identity.inode,
        "birth_ns": step.identity.birth_ns,
        "ctime_ns": step.identity.ctime_ns,
        "fingerprint": step.fingerprint,
        "exclusive_bytes": step.exclusive_bytes,
        "sibling": step.sibling,
        "evidence": [
            {"guard": e.guard, "verdict": e.verdict.value, "waived": e.waived, "facts": [list(f) for f in e.facts]}
            for e in step.evidence
        ],
    }


def canonical_json(value: Mapping[str, object]) -> str:
    """Return the one ASCII JSON text for `value`: sorted keys, no spaces, surrogate escapes kept."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def text_of(path: bytes) -> str:
    """Return `path` as text that round-trips through JSON: bytes that are not UTF-8 become surrogate escapes."""
    return path.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Return the path behind `text_of`."""
    return text.encode("utf-8", "surrogateescape")
