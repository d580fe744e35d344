"""What a look at the tool's own health found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.report.tables import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be, and what to do about it. `repairable`: `doctor --repair` does it."""

    what: str
    object: str
    remedy: str
    repairable: bool = False


def doctor_document(findings: Sequence[Finding], *, repaired: Sequence[str]) -> Document:
    """Return what was done, then what is left."""
    lines = [f"✓ {printable(sentence)}" for sentence in repaired]
    for item in findings:
        lines += [f"✗ {printable(item.object)}: {printable(item.what)}", f"    → {printable(item.remedy)}"]
    if not findings:
        lines.append("Everything is as the catalog says.")
    return ["\n".join(lines)]


def doctor_payload(findings: Sequence[Finding], *, repaired: Sequence[str]) -> dict[str, Any]:
    """Return the fields of cli.md, `doctor --json`."""
    return {
        "ok": not findings,
        "findings": [
            {"what": item.what, "object": item.object, "remedy": item.remedy, "repairable": item.repairable}
            for item in findings
        ],
        "repaired": list(repaired),
    }
