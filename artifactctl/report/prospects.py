"""What could be given up, and what speaks against the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.domain.verdicts import Evidence, may_remove
from artifactctl.report.evidence import evidence_payload
from artifactctl.report.json_values import json_path
from artifactctl.report.sizes import format_bytes
from artifactctl.report.tables import Table, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """One living copy with what every guard says. `offered_by` is the policy rule that offers it, "" when none does."""

    name: str
    kind: str
    host: str
    path: bytes
    allocated_bytes: int
    freed_bytes: int
    offered_by: str
    evidence: tuple[Evidence, ...]

    @property
    def may_go(self) -> bool:
        """Whether every guard is clear."""
        return may_remove(self.evidence)

    @property
    def verdict(self) -> str:
        """In a few words."""
        if not self.may_go:
            return "stays"
        return f"offered ({self.offered_by})" if self.offered_by else "may go"

    @property
    def reasons(self) -> tuple[str, ...]:
        """What keeps it, each as `guard: reason`."""
        return tuple(f"{item.guard}: {item.reason}" for item in self.evidence if not item.permits_removal)


def largest_first(prospects: Sequence[Prospect]) -> tuple[Prospect, ...]:
    """Return what may go before what stays, the larger first."""
    return tuple(sorted(prospects, key=lambda item: (not item.may_go, -item.allocated_bytes, item.name, item.path)))


def prospect_table(prospects: Sequence[Prospect]) -> Table:
    """Return the copies with what would come free, and why the others stay."""
    return Table(
        columns=columns("name", "kind", ">size", ">would free", "verdict", "why it stays"),
        rows=tuple(
            (
                printable(item.name),
                item.kind,
                format_bytes(item.allocated_bytes),
                format_bytes(item.freed_bytes) if item.may_go else "",
                item.verdict,
                printable("; ".join(item.reasons)),
            )
            for item in prospects
        ),
        empty="nothing here has a living copy",
    )


def prospect_payload(item: Prospect) -> dict[str, Any]:
    """Return one copy as JSON."""
    return {
        "name": item.name,
        "kind": item.kind,
        "host": item.host,
        **json_path(item.path),
        "allocated_bytes": item.allocated_bytes,
        "expected_freed_bytes": item.freed_bytes,
        "may_go": item.may_go,
        "offered_by": item.offered_by or None,
        "evidence": evidence_payload(item.evidence),
    }
