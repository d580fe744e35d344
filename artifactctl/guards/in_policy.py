"""`in_policy`: somebody offered it: a rule of the policy, or the operator by name."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate


class InPolicy:
    """Blocks what neither a policy rule offers nor the operator named."""

    name: ClassVar[str] = "in_policy"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return which of the two it was."""
        del observation
        if candidate.named_by_operator:
            return self._clear("named by the operator", "operator")
        if candidate.offered_by:
            return self._clear(f"offered by the rule `{candidate.offered_by}`", candidate.offered_by)
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason="no policy rule offers it and nobody named it",
            remedy=f"name it: `artifactctl reclaim {candidate.artifact.name} --dry-run`",
        )

    def _clear(self, reason: str, by: str) -> Evidence:
        return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason=reason, facts=(("by", by),))
