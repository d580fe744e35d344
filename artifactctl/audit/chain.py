"""The text of an event and its hash: what is hashed is exactly what is stored."""

import base64
import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from artifactctl.domain.audit import AuditAction, AuditEntry, AuditEvent


def compose(entry: AuditEntry, *, event_id: int, previous_hash: str) -> str:
    """Return the body of an event: one line of ASCII JSON. ValueError when the evidence holds NaN or an infinity.

    A path is UTF-8 text with surrogate escapes; where it is not UTF-8 `path_b64` stands beside it.
    """
    body: dict[str, Any] = {
        "id": event_id,
        "at": entry.at.astimezone(UTC).isoformat(),
        "actor": entry.actor,
        "host": entry.host,
        "action": entry.action,
        "artifact": entry.artifact,
        "path": None if entry.path is None else entry.path.decode("utf-8", "surrogateescape"),
        "bytes": entry.bytes,
        "reason": entry.reason,
        "operation": entry.operation,
        "policy_digest": entry.policy_digest,
        "evidence": entry.evidence,
        "previous_hash": previous_hash,
    }
    if entry.path is not None and not _is_utf8(entry.path):
        body["path_b64"] = base64.b64encode(entry.path).decode("ascii")
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(body: str) -> str:
    """Return the SHA-256 of a body in hex."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def parse(body: str, recorded_hash: str) -> AuditEvent:
    """Return the event a body tells of. ValueError or KeyError when it is not one."""
    told = json.loads(body)
    path = told["path"]
    entry = AuditEntry(
        at=datetime.fromisoformat(told["at"]),
        actor=told["actor"],
        host=told["host"],
        action=_action(told["action"]),
        artifact=told["artifact"],
        path=None if path is None else path.encode("utf-8", "surrogateescape"),
        bytes=told["bytes"],
        reason=told["reason"],
        operation=told["operation"],
        policy_digest=told["policy_digest"],
        evidence=told["evidence"],
    )
    return AuditEvent(event_id=told["id"], entry=entry, previous_hash=told["previous_hash"], hash=recorded_hash)


def _action(told: str) -> str:
    return AuditAction(told) if told in set(AuditAction) else told


def _is_utf8(path: bytes) -> bool:
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
