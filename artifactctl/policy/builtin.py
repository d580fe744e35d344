"""The policy that applies with no configuration."""

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta

TIB = 1 << 40

SUPERSEDED = "superseded"
"""The rule that offers what a verified successor takes the place of."""

REBUILDABLE = "rebuildable"
"""The rule that offers what can be built again from living inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The facts about one artifact that rules look at.

    `superseded` says that a successor is recorded, `successor_verified` that it lives and passed `verify` since its
    last change, `recipe_alive` that its recipe is recorded and every input of it lives.
    """

    superseded: bool
    successor_verified: bool
    recipe_alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Limits and waiting times. `max_bytes` and `max_artifacts` bound one run; exceeding refuses the whole run."""

    name: str
    max_bytes: int
    max_artifacts: int
    quiet_time: timedelta
    grace: timedelta
    high_mark: float = 0.85

    def __post_init__(self) -> None:
        if self.max_bytes < 0 or self.max_artifacts < 0:
            raise ValueError("a cap cannot be negative")
        if self.grace < timedelta(0) or self.quiet_time < timedelta(0):
            raise ValueError("a waiting time cannot be negative")

    @property
    def digest(self) -> str:
        """SHA-256 in hex over everything that decides."""
        text = (
            f"{self.name}|{self.max_bytes}|{self.max_artifacts}|{self.quiet_time.total_seconds()}"
            f"|{self.grace.total_seconds()}|{SUPERSEDED},{REBUILDABLE}"
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def offer(self, standing: Standing) -> str:
        """Return the name of the rule that offers the artifact, "" when none does."""
        if standing.superseded and standing.successor_verified:
            return SUPERSEDED
        return REBUILDABLE if standing.recipe_alive else ""

    def tightened(
        self,
        *,
        max_bytes: int | None = None,
        max_artifacts: int | None = None,
        quiet_time: timedelta | None = None,
        grace: timedelta | None = None,
    ) -> "Policy":
        """Return this policy with each limit moved to the safer side only; a looser wish changes nothing."""
        return replace(
            self,
            max_bytes=min(self.max_bytes, max_bytes) if max_bytes is not None else self.max_bytes,
            max_artifacts=min(self.max_artifacts, max_artifacts) if max_artifacts is not None else self.max_artifacts,
            quiet_time=max(self.quiet_time, quiet_time) if quiet_time is not None else self.quiet_time,
            grace=max(self.grace, grace) if grace is not None else self.grace,
        )


BUILTIN = Policy(
    name="built-in",
    max_bytes=20 * TIB,
    max_artifacts=500,
    quiet_time=timedelta(minutes=15),
    grace=timedelta(days=7),
)
"""Offers what is superseded by a verified successor and what can be built again; caps of cli.md."""
