"""`known_members`: every file below is a catalogued member of this artifact."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import counted, first_of


class KnownMembers:
    """Blocks while a file lies below that the catalog does not know as a member: somebody's notes, another artifact."""

    name: ClassVar[str] = "known_members"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return unknown when part of the tree was unreadable or was not compared with the catalog."""
        if observation.tree is None or observation.drift is None:
            return self._unknown("the members could not be compared with the catalog")
        if observation.tree.problems:
            return self._unknown(f"part of the tree could not be read: {observation.tree.problems[0]}")
        drift = observation.drift
        if drift.strays:
            names = [display_path(path) for path in drift.stray_examples]
            inner = _nested_around(candidate, drift.stray_examples)
            if inner:
                return Evidence(
                    guard=self.name,
                    verdict=Verdict.BLOCKED,
                    reason=f"{inner} lies inside, an artifact of its own: it would go as well ({first_of(names)})",
                    facts=(("strays", str(drift.strays)), ("nested", inner)),
                    remedy=f"reclaim {inner} first, or move it out",
                )
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"{counted(drift.strays, 'file')} below that the catalog does not know: {first_of(names)}",
                facts=(("strays", str(drift.strays)), *(("stray", name) for name in names)),
                remedy=f"move it away, or adopt it with `artifactctl scan --accept {candidate.artifact.name}`",
            )
        return Evidence(
            guard=self.name,
            verdict=Verdict.CLEAR,
            reason=f"all {counted(observation.tree.files, 'file')} below are its members",
            facts=(("files", str(observation.tree.files)),),
        )

    def _unknown(self, reason: str) -> Evidence:
        return Evidence(
            guard=self.name,
            verdict=Verdict.UNKNOWN,
            reason=reason,
            remedy="make the folder readable, or run the same command with sudo",
        )


def _nested_around(candidate: Candidate, strays: tuple[bytes, ...]) -> str:
    """Return the artifact inside to which the first of the files belongs, "" when none does."""
    found = (
        name
        for path in strays
        for name, relative in candidate.nested
        if path == relative or path.startswith(relative + b"/")
    )
    return next(found, "")
