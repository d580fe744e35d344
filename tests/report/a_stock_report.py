"""A report for tests: a volume, hidden states of two generations, one of them held by a reader, a hostile name."""

import os
from dataclasses import replace
from datetime import timedelta
from typing import Any

from artifactctl.domain.artifacts import ArtifactKind, LineageEdge, LineageRole
from artifactctl.domain.audit import AuditAction, AuditEntry, AuditEvent
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.report.lineage import Family
from artifactctl.report.prospects import Prospect
from artifactctl.report.stock_report import StockReport
from tests.builders import a_hold, a_lease, a_replica, an_artifact
from tests.report.an_overview import GIB, HOSTILE, NOON, a_share, an_entry, an_overview

CLEAR = Evidence(guard="confined", verdict=Verdict.CLEAR, reason="below its root")
HELD = Evidence(guard="not_held", verdict=Verdict.BLOCKED, reason="python (pid 411) has shard-00007.safetensors open")


def a_prospect(**changes: Any) -> Prospect:
    values: dict[str, Any] = {
        "name": "data/hs-10k",
        "kind": "hidden_states",
        "host": "node-1",
        "path": b"/data/hs-10k",
        "allocated_bytes": 924 * GIB,
        "freed_bytes": 924 * GIB,
        "offered_by": "superseded",
        "evidence": (CLEAR,),
    }
    return Prospect(**{**values, **changes})


def an_event(event_id: int, action: str, **facts: Any) -> AuditEvent:
    entry = AuditEntry(at=NOON - timedelta(hours=9 - event_id), actor="ada@gpu-1", host="gpu-1", action=action, **facts)
    return AuditEvent(event_id=event_id, entry=entry, previous_hash="", hash=f"{event_id:064x}")


def a_family(name: str = "data/hs-10k") -> Family:
    corpus = an_artifact(
        artifact_id=1,
        name="data/corpus",
        kind=ArtifactKind.MERGED_CORPUS,
        replicas=(a_replica(allocated_bytes=GIB),),
    )
    states = an_artifact(artifact_id=2, name=name, replicas=(a_replica(allocated_bytes=924 * GIB),))
    draft = an_artifact(artifact_id=3, name="data/run-3/step-800", kind=ArtifactKind.CHECKPOINT)
    return Family(
        center=2,
        artifacts={1: corpus, 2: states, 3: draft},
        edges=(
            LineageEdge(child_id=2, parent_id=1, role=LineageRole.EXTRACTED_FROM),
            LineageEdge(child_id=3, parent_id=2, role=LineageRole.TRAINED_ON),
        ),
    )


def a_report(name: str = HOSTILE, **changes: Any) -> StockReport:
    """Return a report in which one artifact has `name` in every place where a name can stand."""
    shares = (
        a_share(allocated_bytes=3517 * GIB),
        a_share(state="quarantined", artifacts=1, allocated_bytes=100 * GIB),
        a_share(kind="merged_corpus", artifacts=1, allocated_bytes=2 * GIB, root=name),
        a_share(kind="checkpoint", artifacts=6, allocated_bytes=212 * GIB),
        a_share(kind="checkpoint", state="building", artifacts=1, allocated_bytes=35 * GIB),
    )
    values: dict[str, Any] = {
        "hostname": "gpu-1",
        "version": "1.2.3",
        "overview": replace(
            an_overview(shares=shares, quarantined=(an_entry(name=name, reason=name),)),
            holds=(a_hold(artifact_name=name, reason=name),),
            leases=(a_lease(artifact_name=name, command=name),),
        ),
        "prospects": (
            a_prospect(name=name, path=os.fsencode(name)),
            a_prospect(evidence=(CLEAR, HELD)),
            a_prospect(
                name="data/corpus", kind="merged_corpus", allocated_bytes=2 * GIB, freed_bytes=2 * GIB, offered_by=""
            ),
        ),
        "families": (a_family(), a_family(name)),
        "events": (
            an_event(2, AuditAction.QUARANTINE_DONE, artifact=name, reason=name, bytes=GIB),
            an_event(1, AuditAction.ARTIFACT_REGISTER),
        ),
    }
    return StockReport(**{**values, **changes})
