"""What to save from a machine, as text to act on and as values for scripts."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from artifactctl.capacity.leaving import Basis, LeavingPlan, LeavingVerdict, Saving
from artifactctl.domain.text import printable
from artifactctl.report.instants import format_instant
from artifactctl.report.json_values import json_path, rfc3339
from artifactctl.report.sizes import counted, format_bytes, format_duration, format_rate
from artifactctl.report.tables import Document, Table, columns

NO_DESTINATION = "DESTINATION"
"""What stands in a command where nobody said where to."""

Destinations = Sequence[tuple[str, str]]
"""Roots that things can be saved to, each with its machine."""


def leaving_document(plan: LeavingPlan, *, to: str | None, destinations: Destinations = ()) -> Document:
    """Return the answer, what to save in order, what may stay, and the commands to paste."""
    lines: list[str | Table] = [_headline(plan), _rate_line(plan)]
    if plan.savings:
        lines += ["", _table(plan)]
    if plan.left_behind:
        lines += ["", "may be left behind:"]
        lines += [
            f"  {printable(left.belonging.name)} ({format_bytes(left.belonging.size_bytes)}): {left.why}"
            for left in plan.left_behind
        ]
    commands = commands_of(plan, to=to)
    if commands:
        lines += ["", "to save them, in this order:", *(f"  {command}" for command in commands)]
    if commands and to is None:
        roots = ", ".join(f"{printable(root)} ({printable(host)})" for root, host in destinations)
        where = f"a root on another machine: {roots}; or" if roots else "a root on another machine, or"
        lines += [f"  ({NO_DESTINATION}: {where} a URL such as s3://bucket/prefix; --to fills it in)"]
    lines += ["", "what is in no catalog is not counted: `artifactctl du` on that machine shows how much that is"]
    return lines


def _headline(plan: LeavingPlan) -> str:
    until = f"until {format_instant(plan.by)}"
    if not plan.savings:
        return f"{plan.host}: nothing has to be saved {until}"
    what = f"{counted(len(plan.savings), 'artifact')}, {format_bytes(_bytes(plan))}"
    if plan.verdict is LeavingVerdict.FITS:
        return f"{plan.host}: all of it ({what}) can be saved {until}"
    if plan.verdict is LeavingVerdict.FITS_WITHOUT_REBUILDABLE:
        return f"{plan.host}: all that nobody can rebuild can be saved {until}, not all of {what}"
    lost = sum(s.belonging.size_bytes for s in plan.savings if s.is_unique and s.done_at is None)
    needed = plan.needed_bytes_a_second
    at = "the time is over" if needed is None else f"that would take {format_rate(needed)}"
    return f"{plan.host}: {format_bytes(lost)} that nobody can rebuild cannot be saved {until}: {at}"


def _bytes(plan: LeavingPlan) -> int:
    return sum(saving.belonging.size_bytes for saving in plan.savings)


def _rate_line(plan: LeavingPlan) -> str:
    shown = format_rate(plan.rate.bytes_a_second)
    if plan.rate.basis is Basis.MEASURED:
        return f"at {shown}, measured over the last {counted(plan.rate.archives, 'finished archive')} from there"
    if plan.rate.basis is Basis.GIVEN:
        return f"at {shown}, as you say"
    return f"at {shown}, which is assumed: nothing was archived from there yet (say better with --rate)"


def _table(plan: LeavingPlan) -> Table:
    rows = [
        (
            str(number),
            printable(saving.belonging.name),
            format_bytes(saving.belonging.size_bytes),
            format_duration(saving.duration),
            "too late" if saving.done_at is None else format_instant(saving.done_at),
            saving.why,
        )
        for number, saving in enumerate(plan.savings, start=1)
    ]
    return Table(columns=columns(">no", "name", ">size", ">takes", "saved at", "why"), rows=tuple(rows))


def commands_of(plan: LeavingPlan, *, to: str | None) -> tuple[str, ...]:
    """Return the commands that save what can be saved in time, in order."""
    return tuple(_command(saving, to) for saving in plan.savings if saving.done_at is not None)


def _command(saving: Saving, to: str | None) -> str:
    return f"artifactctl archive {shlex.quote(saving.belonging.name)} --to {shlex.quote(to or NO_DESTINATION)}"


def leaving_payload(plan: LeavingPlan, *, to: str | None, destinations: Destinations = ()) -> dict[str, Any]:
    """Return the same for scripts."""
    needed = plan.needed_bytes_a_second
    return {
        "host": plan.host,
        "by": rfc3339(plan.by),
        "verdict": plan.verdict.value,
        "bytes_per_second": int(plan.rate.bytes_a_second),
        "basis": plan.rate.basis.value,
        "needed_bytes_per_second": None if needed is None else int(needed),
        "size_bytes": _bytes(plan),
        "unique_bytes": plan.unique_bytes,
        "duration_seconds": sum(saving.duration.total_seconds() for saving in plan.savings),
        "save": list(_savings(plan, to)),
        "left_behind": [
            {
                "name": left.belonging.name,
                **json_path(left.belonging.path),
                "size_bytes": left.belonging.size_bytes,
                "why": left.why,
            }
            for left in plan.left_behind
        ],
        "commands": list(commands_of(plan, to=to)),
        "destinations": [{"root": root, "host": host} for root, host in destinations],
    }


def _savings(plan: LeavingPlan, to: str | None) -> Iterator[dict[str, Any]]:
    for saving in plan.savings:
        yield {
            "name": saving.belonging.name,
            "kind": saving.belonging.kind,
            **json_path(saving.belonging.path),
            "size_bytes": saving.belonging.size_bytes,
            "cannot_be_rebuilt": saving.is_unique,
            "why": saving.why,
            "duration_seconds": saving.duration.total_seconds(),
            "done_at": None if saving.done_at is None else rfc3339(saving.done_at),
            "in_time": saving.done_at is not None,
            "command": _command(saving, to),
        }
