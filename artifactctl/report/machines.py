"""Machines that the catalog knows, for people and for scripts."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from artifactctl.domain.artifacts import Root
from artifactctl.domain.ledger import KnownHost
from artifactctl.domain.text import display_path
from artifactctl.report.json_values import json_path
from artifactctl.report.tables import Document, Table, columns, key_values


@dataclass(frozen=True, slots=True, kw_only=True)
class RootThere:
    """A managed root on a machine, and whether its marker was found there."""

    root: Root
    is_marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """How a machine is. Fields are empty or None where nothing was learned.

    `clock_skew` is its clock minus this machine's, right within `clock_uncertainty`. `is_root`: the agent would run as
    root. `problems` are (what is wrong, what to do).
    """

    known: KnownHost
    reachable: bool
    problems: tuple[tuple[str, str], ...]
    latency_seconds: float | None = None
    hostname: str = ""
    system: str = ""
    machine_id: str = ""
    python: str = ""
    python_version: str = ""
    is_root: bool | None = None
    clock_skew: timedelta | None = None
    clock_uncertainty: timedelta | None = None
    roots: tuple[RootThere, ...] = ()


def host_table(hosts: Sequence[KnownHost]) -> Table:
    """Return the table of `host ls`."""
    rows = [
        (
            host.name,
            host.address or "the machine the catalog was made on",
            key_shown(host),
            "yes" if host.uses_sudo else "",
        )
        for host in hosts
    ]
    return Table(
        columns=columns("name", "address", "key", "sudo"),
        rows=tuple(rows),
        empty="No machine is known yet: `artifactctl host add NAME ssh://user@host`.",
    )


def host_payload(host: KnownHost) -> dict[str, Any]:
    """Return one machine for scripts."""
    return {
        "name": host.name,
        "address": host.address,
        "machine_id": host.machine_id,
        "host_key": host.host_key,
        "fingerprint": fingerprint_of(host),
        "uses_sudo": host.uses_sudo,
    }


def fingerprint_of(host: KnownHost) -> str:
    """Return `SHA256:...` of the pinned key, "" for a machine without one."""
    _, _, encoded = host.host_key.partition(" ")
    if not encoded:
        return ""
    digest = hashlib.sha256(base64.b64decode(encoded)).digest()
    return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def key_shown(host: KnownHost) -> str:
    """Return the kind and the fingerprint of the pinned key."""
    return f"{host.host_key.partition(' ')[0]} {fingerprint_of(host)}".strip()


def checkup_payload(checkup: Checkup) -> dict[str, Any]:
    """Return a checkup for scripts."""
    return {
        "ok": not checkup.problems,
        **host_payload(checkup.known),
        "reachable": checkup.reachable,
        "latency_seconds": checkup.latency_seconds,
        "hostname": checkup.hostname,
        "system": checkup.system,
        "machine_id_found": checkup.machine_id,
        "python": checkup.python,
        "python_version": checkup.python_version,
        "is_root": checkup.is_root,
        "clock_skew_seconds": _seconds(checkup.clock_skew),
        "clock_uncertainty_seconds": _seconds(checkup.clock_uncertainty),
        "roots": [
            {"name": each.root.name, **json_path(each.root.path), "is_marked": each.is_marked} for each in checkup.roots
        ],
        "problems": [{"what": what, "remedy": remedy} for what, remedy in checkup.problems],
    }


def checkup_lines(checkup: Checkup) -> Document:
    """Return a checkup for people."""
    known = checkup.known
    facts = [("machine", f"{known.name}, {known.address}"), ("key", key_shown(known))]
    if checkup.reachable:
        facts += [
            ("answers in", "" if checkup.latency_seconds is None else f"{checkup.latency_seconds * 1000:.1f} ms"),
            ("it says", f"{checkup.hostname}, {checkup.system}, machine id {checkup.machine_id or 'none'}"),
            ("python", f"{checkup.python_version} ({checkup.python})" if checkup.python else "none"),
            ("acts as root", "yes" if checkup.is_root else "no: what other users have open cannot all be seen"),
            ("clock", _clock(checkup)),
        ]
        facts += [
            ("root", f"{each.root.name}, {display_path(each.root.path)}{'' if each.is_marked else ': no marker there'}")
            for each in checkup.roots
        ]
    problems = [f"problem: {what}\n  {remedy}" for what, remedy in checkup.problems]
    return [key_values(facts), *(problems or ["nothing is wrong with it"])]


def _clock(checkup: Checkup) -> str:
    if checkup.clock_skew is None or checkup.clock_uncertainty is None:
        return ""
    skew, unsure = checkup.clock_skew.total_seconds(), checkup.clock_uncertainty.total_seconds()
    if abs(skew) <= unsure:
        return f"as here, within {unsure:.1f} seconds"
    return f"{abs(skew):.1f} seconds {'ahead' if skew > 0 else 'behind'}, give or take {unsure:.1f}"


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()
