"""Artifacts in a list and one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState
from artifactctl.domain.text import display_path, printable
from artifactctl.report.instants import format_date
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import counted, format_bytes, format_tokens
from artifactctl.report.tables import Document, Table, columns

_NEAREST_FIRST = {
    state: rank
    for rank, state in enumerate(
        (
            ReplicaState.LIVE,
            ReplicaState.BUILDING,
            ReplicaState.RESTORING,
            ReplicaState.QUARANTINING,
            ReplicaState.QUARANTINED,
            ReplicaState.ARCHIVING,
            ReplicaState.PURGING,
            ReplicaState.MISSING,
            ReplicaState.ARCHIVED,
            ReplicaState.GONE,
        )
    )
}
BYTES_ARE_GONE = (ReplicaState.GONE, ReplicaState.ARCHIVED)


class Sort(StrEnum):
    """How a list is ordered: the largest, the oldest, or the alphabetically first on top."""

    NAME = "name"
    SIZE = "size"
    AGE = "age"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Artifacts with what is needed beside them: host names by id, and how many holds and leases each has by id."""

    artifacts: tuple[Artifact, ...]
    host_names: Mapping[int, str]
    holds: Mapping[int, int] = field(default_factory=dict)
    leases: Mapping[int, int] = field(default_factory=dict)


def principal_replica(artifact: Artifact) -> Replica | None:
    """Return the copy that stands for the artifact: a live one before one in quarantine before one that is gone."""
    return min(artifact.replicas, key=lambda r: (_NEAREST_FIRST[r.state], -r.replica_id), default=None)


def state_of(artifact: Artifact) -> ReplicaState:
    """Return the state of the copy that stands for the artifact; one without any copy is missing."""
    replica = principal_replica(artifact)
    return ReplicaState.MISSING if replica is None else replica.state


def absolute_path(replica: Replica) -> bytes:
    """Return where the replica is, or was before it was set aside, on its machine."""
    return replica.root.path.rstrip(b"/") + b"/" + replica.relative


def sorted_artifacts(artifacts: Sequence[Artifact], sort: Sort) -> tuple[Artifact, ...]:
    """Return the artifacts in order; equal ones by name."""
    keys = {
        Sort.NAME: lambda a: (a.name,),
        Sort.SIZE: lambda a: (-a.allocated_bytes, a.name),
        Sort.AGE: lambda a: (a.created_at, a.name),
    }
    return tuple(sorted(artifacts, key=keys[sort]))


def listing_text(listing: Listing, *, show_gone: bool) -> Document:
    """Return the table of `ls`; artifacts whose bytes are gone only when asked for, else counted below it."""
    gone = [a for a in listing.artifacts if state_of(a) in BYTES_ARE_GONE]
    shown = [a for a in listing.artifacts if show_gone or state_of(a) not in BYTES_ARE_GONE]
    table = Table(
        columns=columns("name", "kind", "state", ">size", ">tokens", "created", "verified", "notes"),
        rows=tuple(_listing_row(artifact, listing) for artifact in shown),
        empty="no artifacts" if show_gone or not gone else "no artifacts whose bytes are still here",
    )
    hidden = len(gone) if not show_gone else 0
    total = f"{counted(len(shown), 'artifact')}, {format_bytes(sum(a.allocated_bytes for a in shown))}"
    lines = [total] if len(shown) > 1 else []
    if hidden:
        those = "one more is" if hidden == 1 else f"{hidden:,} more are"
        lines.append(f"{those} only remembered; `artifactctl ls --state gone` shows {'it' if hidden == 1 else 'them'}")
    return [table, *lines]


def artifact_payload(artifact: Artifact, listing: Listing) -> dict[str, Any]:
    """Return one entry of `ls --json`; `replicas` has every copy, the fields beside it those of the principal one."""
    principal = principal_replica(artifact)
    copy = _replica_fields(principal, listing) if principal else dict.fromkeys(_REPLICA_FIELDS)
    return {
        "name": artifact.name,
        "kind": artifact.kind.value,
        **copy,
        "state": state_of(artifact).value,
        "superseded_by": artifact.superseded_by,
        "tokens": artifact.tokens,
        "records": artifact.records,
        "created_at": artifact.created_at,
        "sealed": artifact.sealed,
        "labels": dict(artifact.labels),
        "metrics": dict(artifact.metrics),
        "holds": listing.holds.get(artifact.artifact_id, 0),
        "leases": listing.leases.get(artifact.artifact_id, 0),
        "replicas": [_replica_fields(replica, listing) for replica in artifact.replicas],
    }


def listing_payload(listing: Listing) -> dict[str, Any]:
    """Return `ls --json`."""
    return {"artifacts": [artifact_payload(artifact, listing) for artifact in listing.artifacts]}


_REPLICA_FIELDS = ("host", "path", "allocated_bytes", "apparent_bytes", "files", "verified_at", "verified_level")


def _replica_fields(replica: Replica, listing: Listing) -> dict[str, Any]:
    level = replica.verified_level
    return {
        "host": listing.host_names.get(replica.root.host_id),
        "root": replica.root.name,
        **json_path(absolute_path(replica)),
        "state": replica.state.value,
        "allocated_bytes": replica.allocated_bytes,
        "apparent_bytes": replica.apparent_bytes,
        "files": replica.files,
        "verified_at": replica.verified_at,
        "verified_level": None if level is None else level.value,
    }


def _listing_row(artifact: Artifact, listing: Listing) -> tuple[str, ...]:
    replica = principal_replica(artifact)
    verified = ""
    if replica and replica.verified_level:
        verified = f"{replica.verified_level.value} {format_date(replica.verified_at)}"
    return (
        printable(artifact.name),
        artifact.kind.value,
        state_of(artifact).value,
        format_bytes(artifact.allocated_bytes),
        "" if artifact.tokens is None else format_tokens(artifact.tokens),
        format_date(artifact.created_at),
        verified,
        ", ".join(notes(artifact, listing)),
    )


def notes(artifact: Artifact, listing: Listing) -> list[str]:
    """Return what keeps the artifact, or speaks for letting it go, in a few words each."""
    found = []
    if listing.holds.get(artifact.artifact_id):
        found.append("held")
    if listing.leases.get(artifact.artifact_id):
        found.append("in use")
    if artifact.superseded_by:
        found.append(f"superseded by {printable(artifact.superseded_by)}")
    if not artifact.sealed:
        found.append("still growing")
    live = sum(replica.state is ReplicaState.LIVE for replica in artifact.replicas)
    if live > 1:
        found.append(f"{live} copies")
    return found


def replica_table(artifact: Artifact, listing: Listing) -> Table:
    """Return the copies of one artifact."""
    return Table(
        columns=columns("state", "host", "path", ">size", ">files", "verified"),
        rows=tuple(
            (
                replica.state.value,
                listing.host_names.get(replica.root.host_id, "?"),
                display_path(absolute_path(replica)),
                format_bytes(replica.allocated_bytes),
                f"{replica.files:,}",
                f"{replica.verified_level.value} {format_date(replica.verified_at)}"
                if replica.verified_level
                else "no",
            )
            for replica in artifact.replicas
        ),
        empty="no copy is known",
    )
