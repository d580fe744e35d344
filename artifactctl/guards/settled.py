"""`settled`: nothing below changed or was read for a while."""

from datetime import timedelta
from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate

CLOCK_TOLERANCE = timedelta(seconds=2)
"""How far ahead of the machine's clock a file time may lie (timestamp granularity) without counting as future."""


class Settled:
    """Blocks while the newest change or read below is younger than the quiet time, or lies in the future.

    A recent access time blocks; an old one proves nothing (relatime, noatime) and is not called evidence.
    """

    name: ClassVar[str] = "settled"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return blocked with the file and how long ago; unknown when the tree could not be read."""
        tree = observation.tree
        quiet = candidate.quiet_time
        if tree is None:
            return Evidence(guard=self.name, verdict=Verdict.UNKNOWN, reason="the tree could not be read")
        if not candidate.clock_trusted:
            return Evidence(
                guard=self.name,
                verdict=Verdict.UNKNOWN,
                reason="the machine's clock is behind what was already recorded",
            )
        now = observation.host_time
        looks = [("changed", tree.changed_at, tree.changed_path)]
        if tree.read_at is not None:
            looks.append(("read", tree.read_at, tree.read_path))
        for what, at, path in looks:
            where = display_path(path) if path else "it"
            if at > now + CLOCK_TOLERANCE:
                return self._blocked(candidate, f"{where} was {what} in the future ({at:%Y-%m-%d %H:%M:%S} UTC)", what)
            if now - at < quiet:
                age = _age(max(now - at, timedelta()))
                return self._blocked(
                    candidate, f"{where} was {what} {age} ago, within the quiet time of {_text(quiet)}", what
                )
        return Evidence(
            guard=self.name,
            verdict=Verdict.CLEAR,
            reason=f"nothing below changed or was seen to be read for {_text(quiet)}",
            facts=(("quiet_seconds", str(int(quiet.total_seconds()))),),
        )

    def _blocked(self, candidate: Candidate, reason: str, what: str) -> Evidence:
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=reason,
            facts=(("recently", what),),
            remedy=f"wait, or {candidate.waiving(self.name)} if you know what did it",
        )


def _age(duration: timedelta) -> str:
    seconds = int(duration.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def _text(duration: timedelta) -> str:
    minutes, seconds = divmod(int(duration.total_seconds()), 60)
    return f"{minutes} min" if not seconds else f"{minutes * 60 + seconds} s"
