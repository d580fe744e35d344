"""What a scan found, for people and for scripts."""

from collections.abc import Sequence
from typing import Any

from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.stock import Drifted, Registered, ScanReport, Strays, together
from artifactctl.domain.text import display_path, printable
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import counted, format_bytes, format_tokens
from artifactctl.report.tables import Document, Table, columns

MOST_UNCATALOGUED = 5
MOST_LINES = 20
"""Entries of one sort that people see; scripts see all."""


def scan_document(rows: ScanReport, *, wrote: bool) -> Document:
    """Return what is new first, then what is not as it was, then what is nobody's."""
    verb = "registered" if wrote else "would register"
    blocks: list[str | Table] = [
        f"{counted(rows.files, 'file')}, {format_bytes(rows.allocated_bytes)}; "
        f"{verb} {counted(len(rows.registered), 'artifact') if rows.registered else 'nothing new'}"
    ]
    if rows.registered:
        blocks += ["", _found_table(rows.registered)]
    blocks += [line for row in (*rows.registered, *rows.grown) for line in _problem_lines(row)]
    blocks += [
        f"~ {printable(row.name)} grew: {counted(row.files, 'file')}, {_size(row)}" for row in rows.grown[:MOST_LINES]
    ]
    blocks += [line for row in rows.drift[:MOST_LINES] for line in _drift_lines(row)]
    blocks += [line for row in rows.strays[:MOST_LINES] for line in _stray_lines(row)]
    blocks += [f"! {printable(name)} is missing: nothing is at its path" for name in rows.missing[:MOST_LINES]]
    blocks += [f"+ {printable(name)} is back" for name in rows.found_again[:MOST_LINES]]
    blocks += [f"~ {printable(name)} was written to since it was last looked at" for name in rows.touched[:MOST_LINES]]
    blocks += _nobodys(rows)
    blocks += [f"? {printable(text)}" for text in rows.problems[:MOST_LINES]]
    blocks += [f"  note: {printable(text)}" for text in rows.notes[:MOST_LINES]]
    return blocks


def _found_table(found: Sequence[Registered]) -> Table:
    rows = [
        (printable(row.name), row.kind.value, _counted(row), f"{row.files:,}", _size(row))
        for row in found[: 5 * MOST_LINES]
    ]
    return Table(columns=columns("name", "kind", ">content", ">files", ">size"), rows=tuple(rows))


def _counted(row: Registered) -> str:
    if row.tokens is not None:
        return f"{format_tokens(row.tokens)} tokens"
    return counted(row.records, "record") if row.records is not None else ""


def _size(row: Registered) -> str:
    return format_bytes(row.allocated_bytes)


def _problem_lines(row: Registered) -> list[str]:
    lines = [f"! {printable(row.name)}: {printable(text)}" for text in row.problems[:3]]
    return lines + ([f"  and {len(row.problems) - 3} more"] if len(row.problems) > 3 else [])


def _drift_lines(row: Drifted) -> list[str]:
    drift = row.drift
    counts = ((drift.strays, "new"), (drift.missing, "missing"), (drift.resized, "of another size"))
    said = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    if row.accepted:
        return [f"✓ {printable(row.name)}: accepted as it is now ({said})"]
    return [
        f"! {printable(row.name)} is not what the catalog says: {said}",
        f"    → `artifactctl scan --accept {printable(row.name)}` if that is right",
    ]


def _stray_lines(row: Strays) -> list[str]:
    names = ", ".join(display_path(path) for path in row.examples[:3])
    return [
        f"! {counted(row.files, 'stray file')} in {printable(row.name)} ({format_bytes(row.allocated_bytes)}): {names}"
    ]


def _nobodys(rows: ScanReport) -> list[str]:
    if not rows.uncatalogued_files:
        return []
    several = "; the largest:" if rows.uncatalogued_files > MOST_UNCATALOGUED else ":"
    lines = [
        "",
        f"uncatalogued: {counted(rows.uncatalogued_files, 'file')}, {format_bytes(rows.uncatalogued_bytes)}{several}",
    ]
    return lines + [
        f"    {format_bytes(file.allocated_bytes):>12}  {display_path(file.path)}"
        for file in rows.uncatalogued_largest[:MOST_UNCATALOGUED]
    ]


def scans_document(found: Sequence[tuple[HostIdentity, ScanReport]], *, wrote: bool) -> Document:
    """Return what was found on each machine, one after the other; other machines than this one by name."""
    blocks: list[str | Table] = []
    for machine, rows in found:
        blocks += [""] if blocks else []
        blocks += [f"{printable(machine.elsewhere)}:"] if machine.elsewhere else []
        blocks += scan_document(rows, wrote=wrote)
    return blocks


def scans_payload(found: Sequence[tuple[HostIdentity, ScanReport]], *, wrote: bool) -> dict[str, Any]:
    """Return the fields of cli.md, `scan --json`, over all machines; what has a path says its `host`."""
    payload = scan_payload(together(rows for _, rows in found), wrote=wrote)
    for key in ("registered", "grown", "drift", "strays"):
        parts = [(machine.hostname, scan_payload(rows, wrote=wrote)[key]) for machine, rows in found]
        payload[key] = [{"host": host, **entry} for host, entries in parts for entry in entries]
    return payload


def scan_payload(rows: ScanReport, *, wrote: bool) -> dict[str, Any]:
    """Return the fields of cli.md, `scan --json`."""
    return {
        "wrote": wrote,
        "registered": [_found_payload(row) for row in rows.registered],
        "grown": [_found_payload(row) for row in rows.grown],
        "drift": [
            {
                "name": row.name,
                **json_path(row.path),
                "new_files": row.drift.strays,
                "missing_files": row.drift.missing,
                "resized_files": row.drift.resized,
                "accepted": row.accepted,
            }
            for row in rows.drift
        ],
        "strays": [
            {
                "name": row.name,
                **json_path(row.path),
                "files": row.files,
                "allocated_bytes": row.allocated_bytes,
                "examples": [json_path(path) for path in row.examples],
            }
            for row in rows.strays
        ],
        "missing": list(rows.missing),
        "found_again": list(rows.found_again),
        "touched": list(rows.touched),
        "uncatalogued_bytes": rows.uncatalogued_bytes,
        "uncatalogued_files": rows.uncatalogued_files,
        "uncatalogued_largest": [
            {**json_path(file.path), "allocated_bytes": file.allocated_bytes} for file in rows.uncatalogued_largest
        ],
        "files": rows.files,
        "allocated_bytes": rows.allocated_bytes,
        "problems": list(rows.problems),
        "notes": list(rows.notes),
    }


def _found_payload(row: Registered) -> dict[str, Any]:
    return {
        "name": row.name,
        "kind": row.kind.value,
        "layout": row.layout,
        **json_path(row.path),
        "files": row.files,
        "allocated_bytes": row.allocated_bytes,
        "tokens": row.tokens,
        "records": row.records,
        "problems": list(row.problems),
        "unfinished": row.unfinished,
    }
