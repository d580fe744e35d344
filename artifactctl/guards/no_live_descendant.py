"""`no_live_descendant`: nothing alive needs it, and nothing unfinished is built from it."""

from typing import ClassVar

from artifactctl.domain.artifacts import LineageRole
from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate, Dependent


class NoLiveDescendant:
    """Blocks while a living artifact needs it (a draft its vocab map), or one built from it is not safely finished.

    Not safely finished: being built, leased, held, or not verified since its last change. What supersedes it is not
    built from it: `recoverable` and `successor_verified` judge the successor.
    """

    name: ClassVar[str] = "no_live_descendant"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return unknown where nobody confirmed the lineage since a rebuild, or a root cannot be asked about it."""
        del observation
        untold = candidate.root_untold
        if untold is not None:
            return Evidence(
                guard=self.name,
                verdict=Verdict.UNKNOWN,
                reason=f"whether the catalog is an older copy is not known: {untold.reason}",
                remedy=untold.remedy,
            )
        if not candidate.lineage_trusted:
            return Evidence(
                guard=self.name,
                verdict=Verdict.UNKNOWN,
                reason="the catalog was rebuilt, restored or is an older copy, and nobody has confirmed its lineage",
                remedy="look at it with `artifactctl lineage`, then confirm with `artifactctl doctor --repair`",
            )
        needing = [(item, why) for item in candidate.dependents if (why := _why_it_needs(item))]
        if not needing:
            return Evidence(
                guard=self.name,
                verdict=Verdict.CLEAR,
                reason="no living artifact needs it",
                facts=(("descendants", str(len(candidate.dependents))),),
            )
        first, why = needing[0]
        more = f" (and {len(needing) - 1} more)" if len(needing) > 1 else ""
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=f"{first.name} {why}{more}",
            facts=tuple(("descendant", f"{item.name}:{item.role.value}") for item, _ in needing[:20]),
            remedy=_remedy(first),
        )


def _why_it_needs(item: Dependent) -> str:
    if not item.living or item.role is LineageRole.SUPERSEDES:
        return ""
    if item.role is LineageRole.RESUMED_FROM:
        return "" if item.finished else "is still being trained from it"
    if item.role.needs_parent:
        return "needs it: useless without it"
    if not item.finished:
        return "is still being built from it"
    if item.leased:
        return "was built from it and is in use"
    if item.held:
        return "was built from it and is held"
    if item.doubt:
        return f"was built from it and is no proof now: {item.doubt}"
    if not item.verified:
        return "was built from it and has not been verified since its last change"
    return ""


def _remedy(item: Dependent) -> str:
    if item.finished and not item.role.needs_parent and not (item.leased or item.held):
        return f"`artifactctl verify {item.name}`"
    return f"`artifactctl why {item.name}`"
