"""How a policy came to its decision about one artifact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.policy.decisions import Decision, RuleVerdict
from artifactctl.report.tables import Document, Table, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The decision about an artifact, every verdict in order, and the digest of the policy."""

    name: str
    decision: Decision
    verdicts: tuple[RuleVerdict, ...]
    policy_digest: str


def explanation_document(explanation: Explanation) -> Document:
    """Return the sentence that decided, then every verdict; `>` stands before the one that decided."""
    decision = explanation.decision
    outcome = "stays" if decision.kept else "may go as far as the policy is concerned"
    return [
        f"{printable(explanation.name)} {outcome}",
        printable(decision.sentence),
        "",
        _table(explanation.verdicts),
    ]


def _table(verdicts: Sequence[RuleVerdict]) -> Table:
    rows = [
        (
            ">" if verdict.decided else "",
            verdict.section,
            printable(verdict.name),
            verdict.matches.value,
            printable(verdict.sentence),
        )
        for verdict in verdicts
    ]
    return Table(columns=columns("", "section", "name", "matches", "verdict"), rows=tuple(rows))


def explanation_payload(explanation: Explanation) -> dict[str, Any]:
    """Return the answer for scripts."""
    decision = explanation.decision
    return {
        "name": explanation.name,
        "decision": "keep" if decision.action is None else decision.action.value,
        "because": decision.because,
        "rule": decision.rule,
        "sentence": decision.sentence,
        "policy_digest": explanation.policy_digest,
        "verdicts": [
            {
                "section": verdict.section,
                "name": verdict.name,
                "matches": verdict.matches.value,
                "sentence": verdict.sentence,
                "decided": verdict.decided,
            }
            for verdict in explanation.verdicts
        ],
    }
