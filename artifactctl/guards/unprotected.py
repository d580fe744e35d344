"""`unprotected`: no protect of the policy in force covers it, whoever names it."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate


class Unprotected:
    """Blocks what a protect covers, or may cover where a fact it asks for is not known; at a purge as well.

    Also what a rule would archive, unless somebody named it: an offer to archive is none to quarantine.
    """

    name: ClassVar[str] = "unprotected"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return blocked with the reason that reviewers agreed to."""
        del observation
        protect = candidate.protect
        if protect is None and candidate.archived_by and not candidate.named_by_operator:
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"the rule `{candidate.archived_by}` archives it, and archiving is not available yet",
                facts=(("archive", candidate.archived_by),),
                remedy=f"name it to set it aside instead: `artifactctl reclaim {candidate.artifact.name} --dry-run`",
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
