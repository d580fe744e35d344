"""`unprotected`: no protect of the policy in force covers it, whoever names it."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate


class Unprotected:
    """Blocks what a protect covers, or may cover where a fact it asks for is not known; at a purge as well."""

    name: ClassVar[str] = "unprotected"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return blocked with the reason that reviewers agreed to."""
        del observation
        if not candidate.protects:
            return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="no protect of the policy covers it")
        first = candidate.protects[0]
        more = f" (and {len(candidate.protects) - 1} more)" if len(candidate.protects) > 1 else ""
        where = f" at {first.place}" if first.place is not None else ""
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=f"the policy protects it, by `{first.name}`{more}: {first.reason}",
            facts=tuple(("protect", item.name) for item in candidate.protects),
            remedy=f"it goes only when the protect `{first.name}`{where} is changed",
        )
