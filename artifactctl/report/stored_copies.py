"""What became, or would become, of a finished copy in an object store."""

from collections.abc import Sequence
from typing import Any

from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.text import printable
from artifactctl.domain.verdicts import Evidence, may_remove
from artifactctl.report.evidence import evidence_payload, refusal_lines
from artifactctl.report.sizes import format_bytes


def stored_lines(name: str, address: str, copy: ArchiveCopy, evidence: Sequence[Evidence], *, done: bool) -> list[str]:
    """Return the lines for people; no evidence: its removal had begun before, and was completed."""
    size = format_bytes(copy.stored_bytes)
    if evidence and not may_remove(evidence):
        return [f"! {printable(name)} stays at {printable(address)}  ({size})", *refusal_lines(evidence, indent="    ")]
    what = "removed from" if done else "would be removed from"
    return [f"{printable(name)}: {what} {printable(address)}  ({size})"]


def stored_payload(
    name: str, address: str, copy: ArchiveCopy, evidence: Sequence[Evidence], *, done: bool
) -> dict[str, Any]:
    """Return the same for scripts."""
    may_go = not evidence or may_remove(evidence)
    return {
        "name": name,
        "url": address,
        "stored_bytes": copy.stored_bytes,
        "outcome": "refused" if not may_go else "purged" if done else "would_be_purged",
        "evidence": evidence_payload(evidence),
    }
