"""An overview for tests: two kinds below one root, something in quarantine, a volume, an audit log."""

from datetime import UTC, datetime, timedelta
from typing import Any

from artifactctl.domain.audit import AuditHead
from artifactctl.report.disk_usage import Share
from artifactctl.report.overview import Overview
from artifactctl.report.quarantine import QuarantineEntry
from artifactctl.report.volumes import VolumeAccount

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
GIB = 2**30
HOSTILE = '</script><img src="x" onerror="alert(1)">'


def a_share(**changes: Any) -> Share:
    values: dict[str, Any] = {
        "root": "data",
        "kind": "hidden_states",
        "state": "live",
        "artifacts": 2,
        "allocated_bytes": 924 * GIB,
    }
    return Share(**{**values, **changes})


def an_entry(**changes: Any) -> QuarantineEntry:
    values: dict[str, Any] = {
        "operation": "20261129-1-1",
        "name": "data/hs-old",
        "kind": "hidden_states",
        "host": "node-1",
        "original": b"/data/hs-old",
        "allocated_bytes": 100 * GIB,
        "freed_bytes": 100 * GIB,
        "since": NOON - timedelta(days=1),
        "grace_until": NOON + timedelta(days=6),
        "reason": "superseded",
        "actor": "ada@node-1",
    }
    return QuarantineEntry(**{**values, **changes})


def an_account(**changes: Any) -> VolumeAccount:
    values: dict[str, Any] = {
        "host": "node-1",
        "name": "data",
        "mount": b"/data",
        "filesystem_type": "xfs",
        "filesystem_uuid": "fs-1",
        "size_bytes": 4000 * GIB,
        "available_bytes": 2000 * GIB,
        "used_bytes": 2000 * GIB,
        "reserved_bytes": 500 * GIB,
        "quarantined_bytes": 100 * GIB,
        "own_bytes": 0,
        "catalogued_bytes": 1500 * GIB,
        "limited_by": "filesystem",
    }
    return VolumeAccount(**{**values, **changes})


def an_overview(**changes: Any) -> Overview:
    values: dict[str, Any] = {
        "taken_at": NOON,
        "shares": (a_share(), a_share(kind="merged_corpus", artifacts=1, allocated_bytes=GIB)),
        "volumes": (an_account(),),
        "quarantined": (an_entry(),),
        "holds": (),
        "leases": (),
        "reservations": (),
        "audit": AuditHead(events=7, hash="ab" * 32),
        "last_acts": {"quarantine.done": NOON - timedelta(days=1), "purge.begin": NOON},
    }
    return Overview(**{**values, **changes})
