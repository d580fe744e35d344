"""What the catalog knows as one JSON document, `artifactctl.catalog-export/1`, for people and programs without it.

One record a line, so that two exports can be compared by line. Records refer to each other by number (`artifact`,
`root`, `replica`); numbers are those of this catalog and never used twice. Tombstones are part of it. The owner of a
lease is left out: it is the secret that releases the lease.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, Hold, Lease, LineageEdge, Replica, Root, Run
from artifactctl.domain.ledger import Measurement
from artifactctl.report.json_values import dump_value, json_path, schema_of

Record = dict[str, Any]

EXPORT_SCHEMA = schema_of("catalog-export")


def export_pieces(reading: Reading, *, now: datetime, with_members: bool) -> Iterator[str]:
    """Yield the document piece by piece; nothing but the list of artifacts is held in memory.

    Member lists, which can be millions of records, only where they are asked for.
    """
    identity = reading.identity()
    artifacts = reading.artifacts()
    head = {
        "lineage": identity.lineage_id,
        "epoch": identity.epoch,
        "revision": identity.revision,
        "confirmed": identity.is_confirmed,
    }
    yield f'{{"schema": {dump_value(EXPORT_SCHEMA)},\n"exported_at": {dump_value(now)},\n'
    yield f'"catalog": {dump_value(head)}'
    sections: list[tuple[str, Iterable[Record]]] = [
        ("roots", map(_root, reading.roots())),
        ("artifacts", map(_artifact, artifacts)),
        ("replicas", (_replica(copy) for each in artifacts for copy in each.replicas)),
        ("lineage", map(_edge, reading.edges())),
        ("holds", map(_hold, reading.holds())),
        ("leases", map(_lease, reading.leases(now))),
        ("runs", map(_run, reading.runs())),
        ("measurements", map(_measurement, reading.all_measurements())),
    ]
    if with_members:
        sections.append(("members", (_member(reading, each) for each in artifacts)))
    for name, records in sections:
        yield f',\n"{name}": ['
        yield from _lines(records)
        yield "]"
    yield "}\n"


def _lines(records: Iterable[Record]) -> Iterator[str]:
    separator = "\n"
    for record in records:
        yield separator + dump_value(record)
        separator = ",\n"


def _root(root: Root) -> Record:
    return {
        "root": root.root_id,
        "name": root.name,
        "host": root.host_id,
        **json_path(root.path),
        "filesystem_uuid": root.filesystem_uuid,
        "filesystem_type": root.filesystem_type,
        "attestation": root.attestation,
    }


def _artifact(artifact: Artifact) -> Record:
    return {
        "artifact": artifact.artifact_id,
        "name": artifact.name,
        "kind": artifact.kind,
        "created_at": artifact.created_at,
        "tokens": artifact.tokens,
        "records": artifact.records,
        "content_digest": artifact.content_digest,
        "sealed": artifact.sealed,
        "superseded_by": artifact.superseded_by,
        "labels": dict(artifact.labels),
        "details": dict(artifact.details),
        "allocated_bytes": artifact.allocated_bytes,
    }


def _replica(replica: Replica) -> Record:
    return {
        "replica": replica.replica_id,
        "artifact": replica.artifact_id,
        "root": replica.root.root_id,
        **json_path(replica.relative, key="relative"),
        "state": replica.state,
        "generation": replica.generation,
        "is_directory": replica.is_directory,
        "files": replica.files,
        "apparent_bytes": replica.apparent_bytes,
        "allocated_bytes": replica.allocated_bytes,
        "member_digest": replica.member_digest,
        "fingerprint": replica.fingerprint,
        "observed_at": replica.observed_at,
        "verified_at": replica.verified_at,
        "verified_level": replica.verified_level,
        "verified_fingerprint": replica.verified_fingerprint,
    }


def _edge(edge: LineageEdge) -> Record:
    return {"child": edge.child_id, "parent": edge.parent_id, "role": edge.role}


def _hold(hold: Hold) -> Record:
    return {
        "hold": hold.hold_id,
        "artifact": hold.artifact_id,
        "reason": hold.reason,
        "actor": hold.actor,
        "placed_at": hold.placed_at,
        "until": hold.until,
    }


def _lease(lease: Lease) -> Record:
    return {
        "lease": lease.lease_id,
        "artifact": lease.artifact_id,
        "host": lease.host,
        "pid": lease.pid,
        "command": lease.command,
        "granted_at": lease.granted_at,
        "expires_at": lease.expires_at,
        "fence": lease.fence,
    }


def _run(run: Run) -> Record:
    return {
        "run": run.run_id,
        "stage": run.stage,
        "state": run.state,
        "command": run.command,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "duration_seconds": run.duration_seconds,
        "cost_gpu_hours": run.cost_gpu_hours,
        "cost_usd": run.cost_usd,
        "inputs": list(run.inputs),
        "outputs": list(run.outputs),
    }


def _measurement(measurement: Measurement) -> Record:
    return {
        "artifact": measurement.artifact_id,
        "metric": measurement.metric,
        "value": measurement.value,
        "source": measurement.source,
        "measured_at": measurement.measured_at,
    }


def _member(reading: Reading, artifact: Artifact) -> Record:
    members = [
        {**json_path(relative, key="relative"), "type": letter, "size_bytes": size}
        for relative, letter, size in reading.members(artifact.artifact_id)
    ]
    return {"artifact": artifact.artifact_id, "members": members}
