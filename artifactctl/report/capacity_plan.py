"""The answer to "does it fit": first the answer, then what it rests on, then what else could be done."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from artifactctl.capacity.demand import Stage
from artifactctl.capacity.fit import Fit
from artifactctl.capacity.saved import capacity_plan_to_json
from artifactctl.capacity.timeline import StageSpan
from artifactctl.capacity.verdict import CapacityPlan
from artifactctl.domain.text import printable, shown_path
from artifactctl.report.instants import format_instant
from artifactctl.report.sizes import format_bytes, format_bytes_both, format_duration, format_tokens
from artifactctl.report.tables import Document, Table, columns, key_values

_WORDS = {
    Fit.FITS: "fits",
    Fit.FITS_AFTER_RECLAIM: "fits after reclaim",
    Fit.DOES_NOT_FIT: "does not fit",
}


def capacity_plan_text(plan: CapacityPlan) -> Document:
    """Return the plan for a person."""
    document: list[str | Table] = [_answer(plan), "", key_values(_facts(plan))]
    if plan.reclaim:
        document += ["", "the cheapest to give up, least regretted first", _offers(plan)]
    if plan.alternatives:
        document += ["", "other ways to do it", _alternatives(plan)]
    return document


def capacity_plan_payload(plan: CapacityPlan) -> dict[str, Any]:
    """Return the plan for scripts; with its schema in front it is what `--out` saves and `reclaim --for` reads."""
    payload = capacity_plan_to_json(plan)
    payload.pop("schema")
    return payload


def pipeline_text(plans: Sequence[CapacityPlan], spans: Sequence[StageSpan]) -> Document:
    """Return a pipeline for a person: one answer a volume, then the stages in order."""
    document: list[str | Table] = []
    for plan in plans:
        document += [*capacity_plan_text(plan), ""]
    stages = Table(
        columns=columns("stage", "volume", ">starts after", ">takes", ">before", ">peak", ">after"),
        rows=tuple(
            (
                printable(span.name),
                printable(span.volume),
                "?" if span.starts_after is None else format_duration(span.starts_after),
                "?" if span.duration is None else format_duration(span.duration),
                format_bytes(span.before_bytes),
                format_bytes(span.peak_bytes),
                format_bytes(span.after_bytes),
            )
            for span in spans
        ),
    )
    return [*document, stages]


def pipeline_payload(plans: Sequence[CapacityPlan], spans: Sequence[StageSpan]) -> dict[str, Any]:
    """Return a pipeline for scripts; its verdict is that of the volume that fits least."""
    return {
        "verdict": worst(plans).value,
        "volumes": [capacity_plan_payload(plan) for plan in plans],
        "stages": [
            {
                "name": span.name,
                "volume": span.volume,
                "starts_after_seconds": _seconds(span.starts_after),
                "duration_seconds": _seconds(span.duration),
                "before_bytes": span.before_bytes,
                "peak_bytes": span.peak_bytes,
                "after_bytes": span.after_bytes,
            }
            for span in spans
        ],
    }


def worst(plans: Sequence[CapacityPlan]) -> Fit:
    """Return the least favourable of the verdicts."""
    order = list(Fit)
    return max((plan.verdict for plan in plans), key=order.index)


def _answer(plan: CapacityPlan) -> str:
    """Return the first line: the verdict, how much of what, and what it means for the disk."""
    what = {
        Stage.EXTRACTION: "hidden states",
        Stage.TRAINING: "checkpoints and draft",
        Stage.RUNNING: "still to be written",
        Stage.PIPELINE: "at the peak of the pipeline",
        Stage.OTHER: "of output",
    }[plan.stage]
    size = plan.peak_bytes if plan.stage is Stage.PIPELINE else plan.demand_bytes
    tokens = f" for {format_tokens(plan.tokens)} tokens" if plan.tokens else ""
    head = f"{_WORDS[plan.verdict]}: {format_bytes_both(size)} {what}{tokens} on {shown_path(plan.host, plan.mount)}"
    if plan.verdict is Fit.FITS:
        return f"{head}; nothing needs to be deleted"
    if plan.verdict is Fit.FITS_AFTER_RECLAIM:
        freed = sum(offer.freed_bytes for offer in plan.reclaim)
        return f"{head}; {format_bytes(plan.shortfall_bytes)} short, giving up {format_bytes(freed)} makes room"
    return f"{head}; {format_bytes(plan.shortfall_bytes)} short, and what may go does not make up for it"


def _facts(plan: CapacityPlan) -> list[tuple[str, str]]:
    taken = [
        (plan.promised_bytes, "promised to others"),
        (plan.reserve_bytes, "kept free"),
    ]
    less = ", ".join(f"{format_bytes(size)} {why}" for size, why in taken if size)
    headroom = f"{format_bytes(plan.headroom_bytes)}, limited by {plan.limited_by}" + (f" ({less})" if less else "")
    parts = " + ".join(f"{format_bytes(part.part_bytes)} {part.name}" for part in plan.parts if part.part_bytes)
    staging = plan.peak_bytes - plan.demand_bytes
    facts = [
        ("headroom", headroom),
        ("left after it", format_bytes(plan.headroom_after_bytes) if plan.headroom_after_bytes >= 0 else ""),
        ("consists of", parts),
        ("while it runs", f"{format_bytes(staging)} more" if staging else ""),
        ("per token", _per_token(plan.bytes_per_token)),
        ("takes", _time(plan)),
        ("full at", _full(plan)),
        ("reserved as", plan.reservation_id),
    ]
    facts += [("elsewhere", f"{format_bytes(s.staging_bytes)} on {printable(s.volume)}") for s in plan.elsewhere]
    return facts


def _per_token(size_bytes: int | None) -> str:
    """Return `42 KiB (43,008 bytes)`; only the bytes where they make no whole KiB."""
    if not size_bytes:
        return ""
    exact = f"{size_bytes:,} bytes"
    return exact if size_bytes % 1024 else f"{size_bytes // 1024:,} KiB ({exact})"


def _time(plan: CapacityPlan) -> str:
    if plan.duration is None:
        return f"not known ({plan.basis_note})"
    return f"{format_duration(plan.duration)}, done {format_instant(plan.finishes_at)} ({plan.basis_note})"


def _full(plan: CapacityPlan) -> str:
    if plan.full_at is None:
        return ""
    return f"{format_instant(plan.full_at)}, {format_duration(plan.full_at - plan.made_at)} after it starts"


def _offers(plan: CapacityPlan) -> Table:
    return Table(
        columns=columns("name", ">frees", "free from"),
        rows=tuple(
            (printable(offer.name), format_bytes(offer.freed_bytes), format_instant(offer.available_at))
            for offer in plan.reclaim
        ),
    )


def _alternatives(plan: CapacityPlan) -> Table:
    return Table(
        columns=columns("way", "verdict", ">on disk", ">tokens", "note"),
        rows=tuple(
            (
                other.name.replace("_", " "),
                _WORDS[other.verdict],
                format_bytes(other.demand_bytes),
                format_tokens(other.tokens) if other.tokens else "",
                other.note,
            )
            for other in plan.alternatives
        ),
    )


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()
