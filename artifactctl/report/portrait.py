"""One artifact as `show` tells it: what it is, where it is, what it hangs on, who keeps it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import Artifact, Hold, Lease, LineageEdge, Run
from artifactctl.domain.shares import Division, Share
from artifactctl.domain.text import printable
from artifactctl.report.archive import archive_payload, archive_table
from artifactctl.report.artifacts import Listing, artifact_payload, replica_table, state_of
from artifactctl.report.instants import format_instant
from artifactctl.report.making import making_facts, making_payload
from artifactctl.report.promises import hold_payload, hold_table, lease_payload, lease_table
from artifactctl.report.sizes import format_bytes_both, format_duration, format_tokens
from artifactctl.report.tables import Document, Table, columns, key_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Portrait:
    """Everything the catalog says about one artifact; `relatives` are the ends of its edges."""

    artifact: Artifact
    listing: Listing
    relatives: tuple[Artifact, ...]
    edges: tuple[LineageEdge, ...]
    holds: tuple[Hold, ...]
    leases: tuple[Lease, ...]
    runs: tuple[Run, ...]
    now: datetime
    archives: tuple[ArchiveCopy, ...] = ()
    division: Division | None = None
    shares: tuple[Share, ...] = ()


def portrait_text(portrait: Portrait) -> Document:
    """Return `show` for a person; what there is nothing to say about is left out."""
    artifact = portrait.artifact
    document: list[str | Table] = [
        _facts(artifact, making_facts(artifact, portrait.division, portrait.shares, now=portrait.now)),
        "",
        replica_table(artifact, portrait.listing),
    ]
    if portrait.archives:
        document += ["", archive_table(portrait.archives)]
    if portrait.edges:
        document += ["", _edge_table(portrait)]
    if portrait.holds:
        document += ["", hold_table(portrait.holds, now=portrait.now)]
    if portrait.leases:
        document += ["", lease_table(portrait.leases, now=portrait.now)]
    if portrait.runs:
        document += ["", _run_table(portrait)]
    return document


def portrait_payload(portrait: Portrait) -> dict[str, Any]:
    """Return `show --json`: the entry of `ls --json` with what hangs on it."""
    names = {other.artifact_id: other.name for other in (portrait.artifact, *portrait.relatives)}
    return {
        **artifact_payload(portrait.artifact, portrait.listing),
        "content_digest": portrait.artifact.content_digest,
        "details": dict(portrait.artifact.details),
        "parents": _ends(portrait, names, of_parents=True),
        "children": _ends(portrait, names, of_parents=False),
        **making_payload(portrait.division, portrait.shares, now=portrait.now),
        "archives": [archive_payload(copy) for copy in portrait.archives],
        "holds": [hold_payload(hold) for hold in portrait.holds],
        "leases": [lease_payload(lease) for lease in portrait.leases],
        "runs": [
            {
                "stage": run.stage,
                "state": run.state.value,
                "command": run.command,
                "started_at": run.started_at,
                "finished_at": run.finished_at,
                "duration_seconds": run.duration_seconds,
                "cost_gpu_hours": run.cost_gpu_hours,
                "cost_usd": run.cost_usd,
            }
            for run in portrait.runs
        ],
    }


def _facts(artifact: Artifact, making: Sequence[tuple[str, str]]) -> str:
    superseded = printable(artifact.superseded_by) if artifact.superseded_by else ""
    return key_values(
        (
            ("name", printable(artifact.name)),
            ("kind", artifact.kind.value),
            ("state", state_of(artifact).value),
            ("size", format_bytes_both(artifact.allocated_bytes)),
            ("tokens", _tokens(artifact.tokens)),
            ("records", "" if artifact.records is None else f"{artifact.records:,}"),
            *making,
            ("created", format_instant(artifact.created_at)),
            ("superseded by", superseded),
            ("content", artifact.content_digest),
            *((printable(key), printable(value)) for key, value in artifact.labels),
            *((printable(key), f"{value:g}") for key, value in artifact.metrics),
            *((printable(key), printable(value)) for key, value in artifact.details),
        )
    )


def _tokens(tokens: int | None) -> str:
    """Return `87,800,000 (87.8 M)`; a short number once."""
    exact, short = ("", "") if tokens is None else (f"{tokens:,}", format_tokens(tokens))
    return exact if exact == short else f"{exact} ({short})"


def _edge_table(portrait: Portrait) -> Table:
    names = {other.artifact_id: other.name for other in portrait.relatives}
    key = portrait.artifact.artifact_id
    rows = [("made from", printable(names[e.parent_id]), e.role.value) for e in portrait.edges if e.child_id == key]
    rows += [("used for", printable(names[e.child_id]), e.role.value) for e in portrait.edges if e.parent_id == key]
    return Table(columns=columns("lineage", "artifact", "role"), rows=tuple(rows))


def _run_table(portrait: Portrait) -> Table:
    key = portrait.artifact.artifact_id
    return Table(
        columns=columns("run", "part", "state", "finished", ">took"),
        rows=tuple(
            (
                run.stage,
                "output" if key in run.outputs else "input",
                run.state.value,
                format_instant(run.finished_at),
                _took(run),
            )
            for run in portrait.runs
        ),
    )


def _took(run: Run) -> str:
    return "" if run.duration_seconds is None else format_duration(timedelta(seconds=run.duration_seconds))


def _ends(portrait: Portrait, names: dict[int, str], *, of_parents: bool) -> Sequence[dict[str, str]]:
    key = portrait.artifact.artifact_id
    return [
        {"name": names[edge.parent_id if of_parents else edge.child_id], "role": edge.role.value}
        for edge in portrait.edges
        if (edge.child_id if of_parents else edge.parent_id) == key
    ]
