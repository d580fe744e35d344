"""What an operation did, for people and for scripts."""

from collections.abc import Mapping
from typing import Any

from artifactctl.domain.observation import VolumeUsage
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.results import OperationResult, StepResult
from artifactctl.domain.text import display_path, printable
from artifactctl.report.evidence import evidence_payload, refusal_lines
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import format_bytes, format_bytes_both
from artifactctl.report.tables import Document, key_values

_WORDS = {
    StepOutcome.QUARANTINED: ("✓", "in quarantine"),
    StepOutcome.PURGED: ("✓", "purged"),
    StepOutcome.RESTORED: ("✓", "restored"),
    StepOutcome.REFUSED: ("✗", "refused"),
    StepOutcome.BUSY_RESTORED: ("✗", "in use: put back where it was"),
    StepOutcome.BUSY_KEPT: ("✗", "in use: kept in quarantine"),
    StepOutcome.ALREADY_ABSENT: ("·", "was not there any more"),
    StepOutcome.FAILED: ("✗", "failed"),
}


def operation_document(result: OperationResult) -> Document:
    """Return what happened, step by step, and what the volume says."""
    lines = [line for step in result.steps for line in _step_lines(step)]
    if any(step.outcome is StepOutcome.PURGED for step in result.steps):
        lines += ["", *_measured_lines(result)]
    elif any(step.outcome is StepOutcome.QUARANTINED for step in result.steps):
        lines += ["", "Nothing is freed until it is purged:", *_ways_on(result.operation)]
    if result.interrupted:
        lines.append("Stopped before the rest was done.")
    return ["\n".join(lines)]


def _ways_on(operation: str) -> list[str]:
    restore, purge = (f"artifactctl quarantine {verb} {operation}" for verb in ("restore", "purge"))
    width = max(len(restore), len(purge))
    return [f"  {restore:<{width}}  puts it back", f"  {purge:<{width}}  frees the space"]


def _step_lines(step: StepResult) -> list[str]:
    symbol, words = _WORDS[step.outcome]
    lines = [f"{symbol} {printable(step.name)}: {words}  ({format_bytes(step.allocated_bytes)})"]
    if step.outcome is StepOutcome.QUARANTINED and step.grace_until is not None:
        lines[0] += f", kept until {step.grace_until:%Y-%m-%d %H:%M} UTC"
    if step.outcome is StepOutcome.RESTORED:
        lines.append(f"    at {display_path(step.path)}")
    if step.detail:
        lines.append(f"    {printable(step.detail)}")
    blocking = refusal_lines(step.evidence, indent="    ")
    return lines + (blocking if step.outcome is not StepOutcome.QUARANTINED else [])


def _measured_lines(result: OperationResult) -> list[str]:
    expected = sum(step.expected_freed_bytes for step in result.steps)
    if result.before is None or result.after is None or result.difference_bytes is None:
        return [f"predicted {format_bytes_both(expected)}; what was freed was not measured"]
    freed = expected + result.difference_bytes
    before, after = result.before.available_bytes, result.after.available_bytes
    measured = [
        ("predicted", format_bytes_both(expected)),
        ("measured", format_bytes_both(freed)),
        ("available", f"{format_bytes(before)} before, {format_bytes(after)} now"),
    ]
    return key_values([*measured, *_differences(result, result.difference_bytes)]).split("\n")


def _differences(result: OperationResult, difference: int) -> list[tuple[str, str]]:
    """Return what explains that more or less came free than predicted, or that nothing does."""
    rest = f"{format_bytes(abs(difference))} {'more' if difference > 0 else 'less'}"
    found = []
    for item in result.explanations:
        part = item.bytes_ is not None and abs(item.bytes_) != abs(difference)
        found.append(f"{rest}: {item.text}" + (f" ({format_bytes(item.bytes_ or 0)})" if part else ""))
    if result.unexplained:
        found.append(f"{rest}: not explained; `artifactctl doctor` looks closer")
    return [("difference", text) for text in found]


def operation_payload(result: OperationResult) -> Mapping[str, Any]:
    """Return the fields of cli.md for apply, reclaim, quarantine purge and quarantine restore."""
    return {
        "operation": result.operation,
        "steps": [_step_payload(step) for step in result.steps],
        "df_before": usage_payload(result.before),
        "df_after": usage_payload(result.after),
        "difference_bytes": result.difference_bytes,
        "explanations": [{"text": item.text, "bytes": item.bytes_} for item in result.explanations],
        "interrupted": result.interrupted,
    }


def _step_payload(step: StepResult) -> Mapping[str, Any]:
    return {
        "name": step.name,
        "outcome": step.outcome.value,
        "operation": step.operation,
        **json_path(step.path),
        "detail": step.detail,
        "evidence": evidence_payload(step.evidence),
        "allocated_bytes": step.allocated_bytes,
        "expected_freed_bytes": step.expected_freed_bytes,
        "measured_freed_bytes": step.measured_freed_bytes,
        "grace_until": step.grace_until,
    }


def usage_payload(usage: VolumeUsage | None) -> Mapping[str, Any] | None:
    """Return a volume's figures as df has them."""
    if usage is None:
        return None
    return {
        **json_path(usage.mount, key="mount"),
        "size_bytes": usage.size_bytes,
        "used_bytes": usage.used_bytes,
        "free_bytes": usage.free_bytes,
        "available_bytes": usage.available_bytes,
    }
