"""Records of a catalog export to rows of the tables, section by section.

ValueError, TypeError or KeyError where a record lacks a field or holds something else than it should.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Table

from artifactctl.catalog.schema import root
from artifactctl.catalog.schema_artifacts import artifact, lineage_edge, measurement, replica
from artifactctl.catalog.schema_work import hold, lease, run, run_input, run_output
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState, RunState, VerifyLevel

Record = Mapping[str, Any]
Row = dict[str, Any]
Rows = Iterator[tuple[Table, Row]]


def _root(record: Record) -> Rows:
    yield (
        root,
        root_row(
            record["root"],
            name=record["name"],
            path=_path(record, "path"),
            filesystem_uuid=record["filesystem_uuid"],
            filesystem_type=record["filesystem_type"],
            attestation=record["attestation"],
        ),
    )


def root_row(root_id: str, **known: Any) -> Row:
    """Return a row of `root`; what an export does not say is empty."""
    nothing = {"name": root_id, "path": b"", "filesystem_uuid": "", "filesystem_type": "", "attestation": ""}
    return {"id": root_id, "host_id": 1, "inode": 0, "forgotten_at": None, **nothing, **known}


def _artifact(record: Record) -> Rows:
    # Which of several artifacts of one name bears it now is settled when all are there.
    yield (
        artifact,
        {
            "id": _number(record["artifact"]),
            "name": _text(record["name"]),
            "name_passed_on": _number(record["artifact"]),
            "kind": ArtifactKind(record["kind"]).value,
            "created_at": _instant(record["created_at"]),
            "tokens": record["tokens"],
            "records": record["records"],
            "content_digest": _text(record["content_digest"]),
            "sealed": _flag(record["sealed"]),
            "labels": _pairs(record["labels"]),
            "details": _pairs(record["details"]),
        },
    )


def _replica(record: Record) -> Rows:
    level = record["verified_level"]
    yield (
        replica,
        {
            "id": _number(record["replica"]),
            "artifact_id": _number(record["artifact"]),
            "root_id": _text(record["root"]),
            "relative": _path(record, "relative"),
            "state": ReplicaState(record["state"]).value,
            "generation": _number(record["generation"]),
            "is_directory": _flag(record["is_directory"]),
            "files": _number(record["files"]),
            "apparent_bytes": _number(record["apparent_bytes"]),
            "allocated_bytes": _number(record["allocated_bytes"]),
            "member_digest": _text(record["member_digest"]),
            "fingerprint": _text(record["fingerprint"]),
            "observed_at": _instant(record["observed_at"]),
            "verified_at": _instant_or_none(record["verified_at"]),
            "verified_level": None if level is None else VerifyLevel(level).value,
            "verified_fingerprint": _text(record["verified_fingerprint"]),
        },
    )


def _edge(record: Record) -> Rows:
    yield (
        lineage_edge,
        {
            "child_id": _number(record["child"]),
            "parent_id": _number(record["parent"]),
            "role": LineageRole(record["role"]).value,
            "recorded_at": _EPOCH,
            "recorded_by": "",
        },
    )


def _hold(record: Record) -> Rows:
    yield (
        hold,
        {
            "id": _number(record["hold"]),
            "artifact_id": _number(record["artifact"]),
            "reason": _text(record["reason"]),
            "actor": _text(record["actor"]),
            "placed_at": _instant(record["placed_at"]),
            "until": _instant_or_none(record["until"]),
            "released_by": "",
            "release_reason": "",
        },
    )


def _lease(record: Record) -> Rows:
    yield (
        lease,
        {
            "fence": _number(record["fence"]),
            "lease_id": _text(record["lease"]),
            "artifact_id": _number(record["artifact"]),
            "owner": "",
            "host": _text(record["host"]),
            "pid": record["pid"],
            "pid_started": "",
            "command": _text(record["command"]),
            "granted_at": _instant(record["granted_at"]),
            "expires_at": _instant(record["expires_at"]),
            "broken_by": "",
            "broken_reason": "",
        },
    )


def _run(record: Record) -> Rows:
    run_id = _number(record["run"])
    yield (
        run,
        {
            "id": run_id,
            "stage": _text(record["stage"]),
            "state": RunState(record["state"]).value,
            "command": _text(record["command"]),
            "started_at": _instant_or_none(record["started_at"]),
            "finished_at": _instant_or_none(record["finished_at"]),
            "duration_seconds": record["duration_seconds"],
            "cost_gpu_hours": record["cost_gpu_hours"],
            "cost_usd": record["cost_usd"],
            "recorded_at": _EPOCH,
        },
    )
    for table, field in ((run_input, "inputs"), (run_output, "outputs")):
        for artifact_id in _list(record[field]):
            yield table, {"run_id": run_id, "artifact_id": _number(artifact_id)}


def _measurement(record: Record) -> Rows:
    yield (
        measurement,
        {
            "artifact_id": _number(record["artifact"]),
            "metric": _text(record["metric"]),
            "value": float(record["value"]),
            "source": _text(record["source"]),
            "measured_at": _instant(record["measured_at"]),
        },
    )


ROWS: Mapping[str, Callable[[Record], Rows]] = {
    "roots": _root,
    "artifacts": _artifact,
    "replicas": _replica,
    "lineage": _edge,
    "holds": _hold,
    "leases": _lease,
    "runs": _run,
    "measurements": _measurement,
}
"""Every section that an export must have."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return value


def _pairs(value: object) -> list[list[str]]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no set of fields")
    return [[key, _text(text)] for key, text in value.items()]


def _path(record: Record, field: str) -> bytes:
    encoded = record.get(f"{field}_b64")
    if encoded is not None:
        return base64.b64decode(_text(encoded), validate=True)
    return _text(record[field]).encode("utf-8", "surrogateescape")


def _instant(value: object) -> datetime:
    at = datetime.fromisoformat(_text(value))
    if at.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone")
    return at


def _instant_or_none(value: object) -> datetime | None:
    return None if value is None else _instant(value)


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")
