"""The answer to "why": may it go, and if not, every reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.domain.verdicts import Evidence
from artifactctl.report.evidence import evidence_lines, evidence_payload
from artifactctl.report.tables import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyAnswer:
    """What the guards say about one artifact. `next_steps` are things to type or do, most helpful first."""

    name: str
    may_go: bool
    standing: str
    evidence: tuple[Evidence, ...]
    next_steps: tuple[str, ...]


def why_document(answer: WhyAnswer) -> Document:
    """Return the answer for people: yes or no first, then every guard, then what to do.

    What is nowhere any more neither stays nor may go: there is only one thing to say.
    """
    name = printable(answer.name)
    if [item.reason for item in answer.evidence] == [answer.standing]:
        return ["\n".join([f"{name}: {answer.standing}", *_steps(answer.next_steps)])]
    verdict = "may go" if answer.may_go else "stays"
    lines = [f"{name} {verdict}" + (f": {answer.standing}" if answer.standing else ""), ""]
    lines += evidence_lines(answer.evidence)
    said = {item.remedy for item in answer.evidence if not item.permits_removal}
    lines += _steps([step for step in answer.next_steps if step not in said])
    return ["\n".join(lines)]


def _steps(steps: Sequence[str]) -> list[str]:
    return ["", "next:", *(f"  {step}" for step in steps)] if steps else []


def why_payload(answer: WhyAnswer) -> dict[str, Any]:
    """Return the fields of cli.md, `why --json`."""
    return {
        "name": answer.name,
        "may_go": answer.may_go,
        "standing": answer.standing,
        "evidence": evidence_payload(answer.evidence),
        "next_steps": list(answer.next_steps),
    }
