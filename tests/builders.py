"""Values for tests: an artifact nobody would miss, seen by a machine that found nothing in the way."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from artifactctl.domain.artifacts import Artifact, ArtifactKind, Hold, Lease, Replica, ReplicaState, Root
from artifactctl.domain.identity import FileIdentity
from artifactctl.domain.observation import (
    Confinement,
    HolderReport,
    MarkerState,
    MemberDrift,
    Observation,
    SharedExtents,
    TreeSummary,
)
from artifactctl.guards.candidate import Candidate

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
YESTERDAY = NOON - timedelta(days=1)
FINGERPRINT = "f" * 64

ROOT = Root(
    root_id="root-1",
    name="data",
    host_id=1,
    path=b"/data",
    filesystem_uuid="fs-1",
    filesystem_type="xfs",
    inode=64,
)


def a_replica(**changes: Any) -> Replica:
    values: dict[str, Any] = {
        "replica_id": 1,
        "artifact_id": 1,
        "root": ROOT,
        "relative": b"hidden-old",
        "state": ReplicaState.LIVE,
        "generation": 0,
        "is_directory": True,
        "files": 2,
        "apparent_bytes": 2000,
        "allocated_bytes": 8192,
        "member_digest": "d" * 64,
        "fingerprint": FINGERPRINT,
        "observed_at": YESTERDAY,
    }
    return Replica(**{**values, **changes})


def an_artifact(**changes: Any) -> Artifact:
    values: dict[str, Any] = {
        "artifact_id": 1,
        "name": "data/hidden-old",
        "kind": ArtifactKind.HIDDEN_STATES,
        "created_at": YESTERDAY,
        "replicas": (a_replica(),),
    }
    return Artifact(**{**values, **changes})


def a_tree(**changes: Any) -> TreeSummary:
    values: dict[str, Any] = {
        "files": 2,
        "directories": 1,
        "symlinks": 0,
        "apparent_bytes": 2000,
        "allocated_bytes": 8192,
        "exclusive_bytes": 8192,
        "fingerprint": FINGERPRINT,
        "member_digest": "d" * 64,
        "changed_at": YESTERDAY,
        "changed_path": b"shard-0",
        "written_at": YESTERDAY,
        "placed_at": YESTERDAY,
        "read_at": YESTERDAY,
        "read_path": b"shard-0",
        "escaping_links": (),
        "special_files": (),
        "outside_names": (),
        "shared_extents": SharedExtents.NONE,
        "problems": (),
    }
    return TreeSummary(**{**values, **changes})


def a_report(**changes: Any) -> HolderReport:
    values: dict[str, Any] = {
        "holders": (),
        "blind_spots": (),
        "processes_inspected": 200,
        "lease_candidates": 2,
        "leases_granted": 2,
        "lease_answers_for_all_openers": True,
    }
    return HolderReport(**{**values, **changes})


def a_place(**changes: Any) -> Confinement:
    values: dict[str, Any] = {
        "marker": MarkerState.MATCHES,
        "marker_detail": "",
        "filesystem_uuid": "fs-1",
        "filesystem_type": "xfs",
        "symlinked_component": None,
        "mounts": (),
        "mounts_complete": True,
    }
    return Confinement(**{**values, **changes})


def an_observation(**changes: Any) -> Observation:
    values: dict[str, Any] = {
        "taken_at": NOON,
        "host_time": NOON,
        "path": b"/data/hidden-old",
        "identity": FileIdentity(filesystem_uuid="fs-1", inode=100, birth_ns=5),
        "is_directory": True,
        "confinement": a_place(),
        "tree": a_tree(),
        "holders": a_report(),
        "obstacles": (),
        "drift": MemberDrift(),
    }
    return Observation(**{**values, **changes})


def a_verified_copy(**changes: Any) -> Replica:
    """Return another copy, in another root, that was verified after everything was written."""
    facts = {"replica_id": 2, "root": replace(ROOT, root_id="root-2", name="backup"), "verified_at": NOON}
    return a_replica(**{**facts, **changes})


def a_candidate(**changes: Any) -> Candidate:
    """A replica that was named, has another verified copy, and that nobody asked to keep."""
    values: dict[str, Any] = {
        "artifact": an_artifact(),
        "replica": a_replica(),
        "named_by_operator": True,
        "offered_by": "",
        "planned_fingerprint": None,
        "leases": (),
        "holds": (),
        "reservations": (),
        "dependents": (),
        "recipe": None,
        "successor": None,
        "other_copies": (a_verified_copy(),),
        "rebuilt_from_this": (),
        "quiet_time": timedelta(minutes=15),
    }
    return Candidate(**{**values, **changes})


def a_lease(**changes: Any) -> Lease:
    values: dict[str, Any] = {
        "lease_id": "lease-1",
        "artifact_id": 1,
        "artifact_name": "data/hidden-old",
        "owner": "3f2a",
        "host": "gpu-1",
        "pid": 411,
        "pid_started": "99",
        "command": "python train.py",
        "granted_at": NOON,
        "expires_at": NOON + timedelta(hours=1),
        "fence": 1,
    }
    return Lease(**{**values, **changes})


def a_hold(**changes: Any) -> Hold:
    values: dict[str, Any] = {
        "hold_id": 7,
        "artifact_id": 1,
        "artifact_name": "data/hidden-old",
        "reason": "for the paper",
        "actor": "ada@gpu-1",
        "placed_at": YESTERDAY,
    }
    return Hold(**{**values, **changes})
