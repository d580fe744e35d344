"""`removable`: nothing would wedge the removal half-way."""

from typing import ClassVar

from artifactctl.domain.observation import Observation, ObstacleKind
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import counted

_WORDS = {
    ObstacleKind.IMMUTABLE: ("immutable", "chattr -i"),
    ObstacleKind.APPEND_ONLY: ("append-only", "chattr -a"),
    ObstacleKind.STICKY: ("in a sticky folder and owned by somebody else", ""),
    ObstacleKind.PERMISSION: ("not ours to remove", ""),
    ObstacleKind.READ_ONLY: ("on a read-only filesystem", ""),
    ObstacleKind.ATTRIBUTES_UNKNOWN: ("of unknown attributes", ""),
}


class Removable:
    """Blocks on permissions, sticky bits, immutable and append-only attributes of any folder or member."""

    name: ClassVar[str] = "removable"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return unknown when only the attributes could not be read."""
        del candidate
        obstacles = observation.obstacles
        if not obstacles:
            return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="every folder and member can be unlinked")
        certain = [item for item in obstacles if item.kind is not ObstacleKind.ATTRIBUTES_UNKNOWN]
        first = (certain or list(obstacles))[0]
        words, command = _WORDS[first.kind]
        where = display_path(first.path) if first.path else "the target itself"
        more = f" ({counted(len(obstacles), 'entry', 'entries')} in all)" if len(obstacles) > 1 else ""
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED if certain else Verdict.UNKNOWN,
            reason=f"{where} is {words}{more}" + (f": {first.detail}" if first.detail else ""),
            facts=tuple((item.kind.value, display_path(item.path)) for item in obstacles[:20]),
            remedy=f"`{command} {where}` if that is wanted" if command else "run the same command with sudo",
        )
