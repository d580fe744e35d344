"""`in_policy`: somebody offered it: a rule of the policy, or the operator by name."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.plans import NAMED_BY_OPERATOR
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import counted


class InPolicy:
    """Blocks what neither a policy rule offers nor the operator named, with the policy's own sentence.

    Also where too few of the verified copies that the rule wants to be left are there just now.
    """

    name: ClassVar[str] = "in_policy"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return which of the two it was."""
        if candidate.named_by_operator:
            return self._clear("named by the operator", NAMED_BY_OPERATOR)
        if not candidate.offered_by:
            return self._blocked(candidate, candidate.kept_because or "no policy rule offers it and nobody named it")
        left = len(candidate.copies_of_what_lies_there(observation))
        if left < candidate.required_copies:
            wanted = counted(candidate.required_copies, "verified copy", "verified copies")
            return self._blocked(
                candidate,
                f"the rule `{candidate.offered_by}` wants {wanted} to be left, and there would be {left}"
                + "".join(f"; {doubt}" for doubt in candidate.doubted_copies[:1]),
            )
        return self._clear(f"offered by the rule `{candidate.offered_by}`", ("rule", candidate.offered_by))

    def _blocked(self, candidate: Candidate, reason: str) -> Evidence:
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=reason,
            remedy=f"name it: `artifactctl reclaim {candidate.artifact.name} --dry-run`",
        )

    def _clear(self, reason: str, by: tuple[str, str]) -> Evidence:
        return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason=reason, facts=(by,))
