"""`successor_verified`: where the policy asks for a successor, it is complete and verified."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate


class SuccessorVerified:
    """Blocks, where a policy rule requires a successor, until it exists and passed `verify` since its last change."""

    name: ClassVar[str] = "successor_verified"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return clear where no rule asks for a successor."""
        del observation
        if not candidate.requires_successor:
            return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="no rule asks for a successor")
        successor = candidate.successor
        if successor is None or not successor.living:
            return self._blocked("a verified successor is required and there is none", "artifactctl supersede")
        if successor.doubt:
            return self._blocked(
                f"its successor {successor.name} may be changing: {successor.doubt}",
                f"artifactctl verify {successor.name}",
            )
        if not successor.verified:
            return self._blocked(
                f"its successor {successor.name} has not been verified since its last change",
                f"artifactctl verify {successor.name}",
            )
        return Evidence(
            guard=self.name,
            verdict=Verdict.CLEAR,
            reason=f"its successor {successor.name} is verified",
            facts=(("successor", successor.name),),
        )

    def _blocked(self, reason: str, command: str) -> Evidence:
        return Evidence(guard=self.name, verdict=Verdict.BLOCKED, reason=reason, remedy=f"`{command}`")
