"""`not_referenced`: no link elsewhere leads here."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import counted


class NotReferenced:
    """Blocks while a link under any managed root (`latest`, `best`, `last.ckpt`) leads to the target or below."""

    name: ClassVar[str] = "not_referenced"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return unknown when a folder that could hold such a link was unreadable."""
        del candidate
        if observation.referrers:
            links = observation.referrers
            more = f" and {len(links) - 1} more" if len(links) > 1 else ""
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"the link {display_path(links[0].link)} points to it{more}",
                facts=tuple(("link", display_path(item.link)) for item in links[:20]),
                remedy="point the link elsewhere or remove it",
            )
        if observation.referrer_problems:
            problems = observation.referrer_problems
            return Evidence(
                guard=self.name,
                verdict=Verdict.UNKNOWN,
                reason=f"{counted(len(problems), 'folder')} could not be searched for links: {problems[0]}",
                facts=tuple(("unread", text) for text in problems[:20]),
                remedy="make the folder readable, or run the same command with sudo",
            )
        return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="no link under a managed root leads to it")
