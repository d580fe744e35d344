"""`not_referenced`: no link elsewhere leads here."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import counted


class NotReferenced:
    """Blocks while a link under any managed root (`latest`, `best`, `last.ckpt`) leads to the target or below.

    Before a quarantine that is any link that leads to its path or below, also to a member that is not there: what it
    names would be gone, or came to be named by mistake, which a person has to tell.

    Before a purge a link means the bytes that it reaches now, by where these are:
    - one that leads into the quarantine folder reaches the quarantined bytes: it blocks;
    - one that leads to the old path, or below, and finds something there means what was put there since: it does not
      block, or whoever re-created the path could never purge;
    - one that leads there and finds nothing (or cannot be followed) was made, or kept, after the quarantine for what
      lay there: it blocks, since a restore would make it whole and a purge would break it for good.
    """

    name: ClassVar[str] = "not_referenced"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return unknown when a folder that could hold such a link was unreadable."""
        del candidate
        if observation.referrers:
            links = observation.referrers
            what = "names a place of it where nothing is now" if links[0].is_dangling else "points to it"
            more = f" and {len(links) - 1} more" if len(links) > 1 else ""
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"the link {display_path(links[0].link)} {what}{more}",
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
                remedy="unmount what is mounted there, or make the folder readable (or use sudo); then run it again",
            )
        return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="no link under a managed root leads to it")
