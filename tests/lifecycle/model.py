"""What a person would say of the artifacts: which must be there, what was asked for, and what may have gone."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

Tree = dict[bytes, tuple[int, int]]


@dataclass(slots=True, kw_only=True)
class Promise:
    """A lease: by the clock until `expires_at`, and within one boot for `term` of real time whatever the clock says."""

    expires_at: datetime
    boot: int
    taken_up: timedelta
    term: timedelta

    def stands(self, world: "World") -> bool:
        """Whether whoever took it relies on it now."""
        if world.boot == self.boot:
            return world.up - self.taken_up < self.term
        return world.now < self.expires_at


@dataclass(slots=True, kw_only=True)
class Copy:
    """One copy: where it belongs and what it is. `purged` once its bytes were seen to go.

    `came_late`: somebody asked to keep the artifact when the purge of this copy had begun and another copy was left.
    """

    artifact: str
    root: bytes
    tree: Tree
    is_touched: bool = False
    purged: bool = False
    came_late: bool = False
    aside_at: timedelta | None = None

    @property
    def path(self) -> bytes:
        """Its place."""
        return self.root + b"/" + self.artifact.encode()


@dataclass(slots=True, kw_only=True)
class Known:
    """One artifact. `needs` are useless-without parents, `built_from` those it can be built from again."""

    name: str
    built_from: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    successor: str = ""
    is_verified: bool = False
    held: bool = False
    leases: list[Promise] = field(default_factory=list)
    opened: int = 0


@dataclass(slots=True)
class World:
    """Everything the model knows. `up` is time since boot, `real` all the time that really passed."""

    now: datetime
    boot: int = 1
    up: timedelta = timedelta(hours=1)
    real: timedelta = timedelta(0)
    artifacts: dict[str, Known] = field(default_factory=dict)
    copies: list[Copy] = field(default_factory=list)

    def copies_of(self, name: str) -> list[Copy]:
        """Return the copies of an artifact whose bytes are there."""
        return [copy for copy in self.copies if copy.artifact == name and not copy.purged]

    def has_bytes(self, name: str) -> bool:
        """Whether a copy is left that nobody wrote to."""
        return any(not copy.is_touched for copy in self.copies_of(name))

    def is_safe(self, name: str, asked: frozenset[str] = frozenset()) -> bool:
        """Whether it is there, has a successor that is, or can be built from what is there."""
        known = self.artifacts[name]
        if name in asked:
            return False
        if self.has_bytes(name):
            return True
        if known.successor and self.is_safe(known.successor, asked | {name}):
            return True
        return bool(known.built_from) and all(self.is_safe(one, asked | {name}) for one in known.built_from)

    def is_needed(self, name: str) -> bool:
        """Whether something that is useless without it is there."""
        return any(name in known.needs and self.has_bytes(known.name) for known in self.artifacts.values())

    def why_it_must_stay(self, copy: Copy) -> str:
        """Return what forbids that the bytes of a copy go now, "" when nothing does."""
        known = self.artifacts[copy.artifact]
        reasons = {
            "it is held": known.held and not copy.came_late,
            "a lease stands": not copy.came_late and any(lease.stands(self) for lease in known.leases),
            "somebody has it open": known.opened > 0,
            "it was written to since it was catalogued": copy.is_touched,
            "what is useless without it is there": self.is_needed(known.name) and not self.has_bytes(known.name),
            "nothing is left of it and nothing to build it from": not self.is_safe(known.name),
        }
        return "; ".join(reason for reason, holds in reasons.items() if holds)
