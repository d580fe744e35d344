"""First aid on a filling disk: when it is full, who fills it, what could go, and one line to paste."""

from collections.abc import Sequence
from datetime import timedelta

from artifactctl.domain.observation import Holder
from artifactctl.domain.text import display_path, printable
from artifactctl.report.instants import format_instant
from artifactctl.report.rescue_values import (
    Coverage,
    Filling,
    FirstAid,
    RescueCandidate,
    RescueKept,
    WriterSeen,
    freed_by,
)
from artifactctl.report.sizes import format_bytes, format_bytes_both, format_duration, format_rate
from artifactctl.report.tables import Document, Table, columns

CANDIDATES_SHOWN = 15
KEPT_SHOWN = 5
COMMAND_CHARACTERS = 48


def first_aid_text(aid: FirstAid) -> Document:
    """Return the answer for a person, the most urgent first."""
    document: list[str | Table] = [_volume_line(aid), _filling_line(aid)]
    if aid.writers:
        document += ["", _writers_table(aid.writers)]
    document += [line for line in (_deleted_lines(aid), _quarantine_line(aid)) if line]
    document += ["", *_candidates(aid)]
    if aid.kept:
        document += ["", "Stays:", _kept_table(aid.kept)]
    coverage = _coverage_lines(aid.coverage)
    document += ["", *coverage] if coverage else []
    document += ["", _command_lines(aid)]
    return document


def _volume_line(aid: FirstAid) -> str:
    usage = aid.usage
    used = 1 - usage.available_bytes / max(usage.size_bytes, 1)
    free = format_bytes_both(aid.available_bytes)
    bound = "" if aid.limited_by == "filesystem" else f", limited by {aid.limited_by}"
    return (
        f"{display_path(usage.mount)} ({usage.filesystem_type}, {format_bytes(usage.size_bytes)}) is {used:.1%} full: "
        f"{free} left{bound}"
    )


def _filling_line(aid: FirstAid) -> str:
    filling = aid.filling
    if filling.bytes_per_second is None:
        return "How fast it fills could not be measured."
    if aid.available_bytes <= 0:
        return f"It is full now. {_speed(filling)}"
    if filling.full_at is None:
        return f"{_speed(filling)}"
    left = filling.full_at - aid.made_at
    return f"{_speed(filling)} Full at {format_instant(filling.full_at)}, in {format_duration(left)}, at this rate."


def _speed(filling: Filling) -> str:
    watched = format_duration(timedelta(seconds=filling.watched_seconds))
    rate = filling.bytes_per_second or 0.0
    if rate <= 0:
        return f"Nothing was added to it while it was watched for {watched}."
    source = ", more than the processes seen here write" if filling.is_from_volume else ""
    return f"It fills at {format_rate(rate)} (watched for {watched}{source})."


def _writers_table(writers: Sequence[WriterSeen]) -> Table:
    return Table(
        columns=columns(">pid", "writes now", ">rate", "into"),
        rows=tuple(
            (
                str(writer.pid),
                _command(writer.command),
                format_rate(writer.bytes_per_second),
                display_path(writer.path) if writer.path else "short-lived files" + _perhaps(writer),
            )
            for writer in writers
        ),
    )


def _perhaps(writer: WriterSeen) -> str:
    return "" if writer.is_certain else ", probably here"


def _deleted_lines(aid: FirstAid) -> str:
    if not aid.deleted_open:
        return ""
    total = format_bytes(sum(item.size_bytes for item in aid.deleted_open))
    lines = [f"\n{total} are in files that are deleted and still open; they come free when these processes end:"]
    for item in sorted(aid.deleted_open, key=lambda item: -item.size_bytes)[:CANDIDATES_SHOWN]:
        where = display_path(item.path)
        lines.append(f"  {format_bytes(item.size_bytes)}  pid {item.pid} ({_command(item.command)})  {where}")
    return "\n".join(lines)


def _quarantine_line(aid: FirstAid) -> str:
    if not aid.quarantined_bytes:
        return ""
    return f"\n{format_bytes(aid.quarantined_bytes)} lie in quarantine and come free when they are purged."


def _candidates(aid: FirstAid) -> list[str | Table]:
    free = [candidate for candidate in aid.candidates if candidate.is_free_to_go]
    held = [candidate for candidate in aid.candidates if not candidate.is_free_to_go]
    blocks: list[str | Table] = []
    if free:
        more = len(free) - CANDIDATES_SHOWN
        blocks.append(f"Could go, what is missed least first ({format_bytes(freed_by(free))} together):")
        blocks.append(_candidate_table(free[:CANDIDATES_SHOWN], aid))
        blocks += [f"and {more} more (`--json` lists all)"] if more > 0 else []
    else:
        blocks.append("Nothing was found that could go.")
    if held:
        blocks += ["", "Could go, but not now:", _held_table(held[:CANDIDATES_SHOWN])]
    return blocks


def _candidate_table(candidates: Sequence[RescueCandidate], aid: FirstAid) -> Table:
    return Table(
        columns=columns("", ">frees", "kind", "path", "why"),
        rows=tuple(
            (
                "✓" if candidate in aid.chosen else "",
                format_bytes(candidate.freed_bytes),
                candidate.kind,
                display_path(candidate.path),
                printable(candidate.why),
            )
            for candidate in candidates
        ),
    )


def _held_table(candidates: Sequence[RescueCandidate]) -> Table:
    return Table(
        columns=columns(">frees", "path", "in the way"),
        rows=tuple(
            (format_bytes(candidate.freed_bytes), display_path(candidate.path), _in_the_way(candidate))
            for candidate in candidates
        ),
    )


def _in_the_way(candidate: RescueCandidate) -> str:
    said = [_holder(holder) for holder in candidate.held_by[:3]]
    if len(candidate.held_by) > 3:
        said.append(f"and {len(candidate.held_by) - 3} more")
    return printable("; ".join([*said, *candidate.promised, *filter(None, [candidate.caution])]))


def _holder(holder: Holder) -> str:
    who = f"pid {holder.pid} ({_command(holder.command)})" if holder.pid is not None else "the kernel"
    return f"{who}: {holder.kind.value.replace('_', ' ')}"


def _kept_table(kept: Sequence[RescueKept]) -> Table:
    return Table(
        columns=columns(">holds", "kind", "path", "why it stays"),
        rows=tuple(
            (format_bytes(item.allocated_bytes), item.kind, display_path(item.path), printable(item.why))
            for item in kept[:KEPT_SHOWN]
        ),
    )


def _coverage_lines(coverage: Coverage) -> list[str]:
    if coverage.complete:
        return []
    lines = [
        f"Only a part was seen: {coverage.entries:,} entries with {format_bytes(coverage.seen_bytes)}; "
        f"time was up in {display_path(coverage.stopped_in)}."
    ]
    if coverage.unreached:
        names = ", ".join(display_path(path) for path in coverage.unreached[:5])
        more = f" and {len(coverage.unreached) - 5} more" if len(coverage.unreached) > 5 else ""
        lines.append(f"Not looked into: {names}{more}. `--seconds 60` sees more.")
    else:
        lines.append("`--seconds 60` sees more.")
    return lines


def _command_lines(aid: FirstAid) -> str:
    if not aid.chosen:
        if aid.target_bytes <= 0:
            return "There is no need to delete anything now; `--need SIZE` says what would free so much."
        if not aid.suggested_command:
            return "There is nothing to paste: nothing that was seen can go without losing something."
        return (
            f"Nothing needs to be deleted for that; to see who keeps deleted files open:\n\n  {aid.suggested_command}"
        )
    said = f"This frees {format_bytes(aid.chosen_bytes)}."
    if aid.needed_bytes is not None:
        needed = format_bytes_both(aid.needed_bytes)
        is_enough = aid.chosen_bytes >= aid.needed_bytes
        said = said[:-1] + (f"; {needed} are needed." if is_enough else f" of the {needed} needed: all there is.")
    asks = "It shows what would happen and asks first; the bytes are free once it is purged, which it offers as well:"
    return f"{said} {asks}\n\n  {aid.suggested_command}"


def _command(command: str) -> str:
    text = printable(command)
    return text if len(text) <= COMMAND_CHARACTERS else text[: COMMAND_CHARACTERS - 1] + "…"
