"""`successor_verified`: where the policy asks for a successor, it lives and is verified, as far as it asks."""

from typing import ClassVar

from artifactctl.domain.artifacts import LineageRole
from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate, Dependent, Successor
from artifactctl.policy.ruleset import RequireSuccessor


class SuccessorVerified:
    """Blocks, where a policy rule requires a successor, until it exists and passed `verify` since its last change.

    The successor is what supersedes the artifact, or a child of it in the lineage: whichever the rule names.
    """

    name: ClassVar[str] = "successor_verified"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return clear where no rule asks for a successor."""
        del observation
        required = candidate.required_successor
        if required is None:
            return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="no rule asks for a successor")
        living = [heir for heir in _heirs(candidate, required) if heir.living]
        staying = [heir for heir in living if not _goes_too(heir)]
        good = next((heir for heir in staying if not required.verified or (heir.verified and not heir.doubt)), None)
        if good is not None:
            said = "is verified" if good.verified else "lives"
            reason = f"its successor {good.name} {said}"
            return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason=reason, facts=(("successor", good.name),))
        if staying:
            first, doubt = staying[0].name, staying[0].doubt
            if doubt:
                return self._blocked(f"its successor {first} is no proof now: {doubt}", f"artifactctl verify {first}")
            return self._blocked(
                f"its successor {first} has not been verified since its last change", f"artifactctl verify {first}"
            )
        if living:
            first = living[0].name
            return self._blocked(f"its successor {first} would go in the same plan", f"artifactctl why {first}")
        command = "artifactctl supersede" if candidate.goes_for_what_supersedes_it else "artifactctl link"
        wanted = "a verified successor" if required.verified else "a successor"
        return self._blocked(f"{wanted} is required and there is none", command)

    def _blocked(self, reason: str, command: str) -> Evidence:
        return Evidence(guard=self.name, verdict=Verdict.BLOCKED, reason=reason, remedy=f"`{command}`")


def _goes_too(heir: Dependent | Successor) -> bool:
    """Whether the plan takes the child as well; whether what supersedes it goes is for `recoverable` to judge."""
    return isinstance(heir, Dependent) and heir.in_same_plan


def _heirs(candidate: Candidate, required: RequireSuccessor) -> list[Dependent | Successor]:
    """Return what the rule would take for a successor, living or not."""
    roles = required.relation.roles or tuple(role for role in LineageRole if role is not LineageRole.SUPERSEDES)
    heirs: list[Dependent | Successor] = []
    if LineageRole.SUPERSEDES in roles and candidate.successor is not None:
        heirs.append(candidate.successor)
    heirs += [d for d in candidate.dependents if d.role in roles and d.role is not LineageRole.SUPERSEDES]
    return [heir for heir in heirs if not required.relation.kinds or heir.kind in required.relation.kinds]
