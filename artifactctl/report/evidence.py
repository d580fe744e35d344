"""What the guards found, as lines a person can act on and as objects a script can test."""

from collections.abc import Sequence
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.domain.verdicts import Evidence, Verdict

SYMBOLS = {Verdict.CLEAR: "✓", Verdict.ATTESTED: "✓", Verdict.BLOCKED: "✗", Verdict.UNKNOWN: "?"}
_ORDER = {Verdict.BLOCKED: 0, Verdict.UNKNOWN: 1, Verdict.ATTESTED: 2, Verdict.CLEAR: 3}


def evidence_lines(evidence: Sequence[Evidence], *, indent: str = "  ") -> list[str]:
    """Return one line a guard, what stands in the way first, with what would change it below."""
    width = max((len(item.guard) for item in evidence), default=0)
    lines = []
    for item in sorted(evidence, key=lambda item: (item.permits_removal, _ORDER[item.verdict])):
        waived = " (waived)" if item.waived else ""
        lines.append(f"{indent}{SYMBOLS[item.verdict]} {item.guard:<{width}}  {printable(item.reason)}{waived}")
        if item.remedy and not item.permits_removal:
            lines.append(f"{indent}  {'':<{width}}  → {printable(item.remedy)}")
    return lines


def refusal_lines(evidence: Sequence[Evidence], *, indent: str = "  ") -> list[str]:
    """Return the lines of what stands in the way only."""
    return evidence_lines([item for item in evidence if not item.permits_removal], indent=indent)


def evidence_payload(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    """Return the evidence as JSON objects in the order the guards ran; `facts` are [key, value] pairs."""
    return [
        {
            "guard": item.guard,
            "verdict": item.verdict.value,
            "reason": item.reason,
            "facts": [list(fact) for fact in item.facts],
            "remedy": item.remedy,
            "waived": item.waived,
        }
        for item in evidence
    ]
