"""`unprotected`: no protect of the policy in force covers it, whoever names it."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate


class Unprotected:
    """Blocks what a protect covers, or may cover where a fact it asks for is not known; at a purge as well.

    Also what a rule archives, unless somebody named it, until a verified copy of it is somewhere else.
    """

    name: ClassVar[str] = "unprotected"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return blocked with the reason that reviewers agreed to."""
        protect = candidate.protect
        to_be_archived = candidate.archived_by and not candidate.named_by_operator
        if protect is None and to_be_archived and not candidate.copies_of_what_lies_there(observation):
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"the rule `{candidate.archived_by}` archives it, and no verified copy is anywhere else yet",
                facts=(("archive", candidate.archived_by),),
                remedy=f"make one: `artifactctl archive {candidate.artifact.name}`",
            )
        if protect is None:
            return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="no protect of the policy covers it")
        where = f" ({protect.place})" if protect.place is not None else ""
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=f"the policy protects it, by `{protect.name}`: {protect.reason}",
            facts=(("protect", protect.name),),
            remedy=f"it goes only when the protect `{protect.name}`{where} is changed",
        )
