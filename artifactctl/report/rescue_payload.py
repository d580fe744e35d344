"""`rescue --json`: first aid as numbers, paths and names."""

from typing import Any

from artifactctl.report.json_values import json_path
from artifactctl.report.rescue_values import Coverage, FirstAid, RescueCandidate, WriterSeen


def first_aid_payload(aid: FirstAid) -> dict[str, Any]:
    """Return `rescue --json`: `free_bytes` is what df calls available, `available_bytes` what every limit allows."""
    return {
        **json_path(aid.usage.mount, key="volume"),
        "filesystem_uuid": aid.usage.filesystem_uuid,
        "filesystem_type": aid.usage.filesystem_type,
        **json_path(aid.path),
        "size_bytes": aid.usage.size_bytes,
        "free_bytes": aid.usage.available_bytes,
        "available_bytes": aid.available_bytes,
        "limited_by": aid.limited_by,
        "made_at": aid.made_at,
        "bytes_per_second": aid.filling.bytes_per_second,
        "watched_seconds": aid.filling.watched_seconds,
        "processes_denied": aid.filling.processes_denied,
        "full_at": aid.filling.full_at,
        "writers": [_writer_payload(writer) for writer in aid.writers],
        "deleted_open": [
            {**json_path(item.path), "pid": item.pid, "command": item.command, "size_bytes": item.size_bytes}
            for item in aid.deleted_open
        ],
        "quarantined_bytes": aid.quarantined_bytes,
        "needed_bytes": aid.needed_bytes,
        "target_bytes": aid.target_bytes,
        "chosen_bytes": aid.chosen_bytes,
        "candidates": [_candidate_payload(candidate, chosen=candidate in aid.chosen) for candidate in aid.candidates],
        "kept": [
            {**json_path(item.path), "kind": item.kind, "allocated_bytes": item.allocated_bytes, "why": item.why}
            for item in aid.kept
        ],
        "unclaimed": [{**json_path(path), "allocated_bytes": size} for path, size in aid.unclaimed],
        "coverage": _coverage_payload(aid.coverage),
        "suggested_command": aid.suggested_command or None,
        "problems": list(aid.problems),
    }


def _writer_payload(writer: WriterSeen) -> dict[str, Any]:
    return {
        "pid": writer.pid,
        "command": writer.command,
        **json_path(writer.path or None),
        "bytes_per_second": writer.bytes_per_second,
        "is_certain": writer.is_certain,
    }


def _candidate_payload(candidate: RescueCandidate, *, chosen: bool) -> dict[str, Any]:
    return {
        **json_path(candidate.path),
        "kind": candidate.kind,
        "allocated_bytes": candidate.allocated_bytes,
        "freed_bytes": candidate.freed_bytes,
        "why": candidate.why,
        "held_by": [
            *(
                {"kind": h.kind.value, "pid": h.pid, "command": h.command, "detail": h.detail}
                for h in candidate.held_by
            ),
            *({"kind": "promise", "pid": None, "command": "", "detail": said} for said in candidate.promised),
        ],
        "caution": candidate.caution,
        "regret": candidate.regret,
        "modified_at": candidate.modified_at,
        "is_settled": candidate.is_settled,
        "operation": candidate.operation or None,
        "chosen": chosen,
    }


def _coverage_payload(coverage: Coverage) -> dict[str, Any]:
    return {
        "complete": coverage.complete,
        "entries": coverage.entries,
        "seen_bytes": coverage.seen_bytes,
        **json_path(coverage.stopped_in or None, key="stopped_in"),
        "unreached": [json_path(path) for path in coverage.unreached],
    }
