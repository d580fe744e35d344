"""`no_hold`: nobody asked to keep it."""

from typing import ClassVar

from artifactctl.domain.observation import Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate


class NoHold:
    """Blocks on a hold on it, on an artifact above and on one below.

    A hold whose date has passed is due for a review; it blocks until somebody releases it.
    """

    name: ClassVar[str] = "no_hold"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return blocked with the reason somebody gave for keeping it; unknown where the root's own list is unread."""
        holds, untold = candidate.holds, candidate.root_untold
        if not holds and untold is not None:
            return Evidence(
                guard=self.name,
                verdict=Verdict.UNKNOWN,
                reason=f"which holds stand in the root is not known: {untold.reason}",
                facts=(("holds", "unread"),),
                remedy=untold.remedy,
            )
        if not holds:
            return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="no hold on it, above it or below it")
        first = holds[0]
        where = "it" if first.artifact_name == candidate.artifact.name else first.artifact_name
        due = [hold.until for hold in holds if hold.until is not None and hold.review_is_due(observation.taken_at)]
        review = f" (a review is due since {min(due):%Y-%m-%d}; it holds until released)" if due else ""
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=f"{first.actor} holds {where}: {first.reason}{review}",
            facts=tuple(("hold", str(item.hold_id)) for item in holds),
            remedy=f'`artifactctl hold release {first.artifact_name} --reason "..."` if that reason has gone',
        )
