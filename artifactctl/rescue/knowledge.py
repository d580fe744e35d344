"""What a catalog, if there is one, adds to what is seen on disk."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One catalogued artifact at a path. `promised` are holds and leases in words, `needed_by` a living child."""

    name: str
    superseded: bool
    repeatable: bool
    promised: tuple[str, ...]
    needed_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """One operation whose bytes lie in quarantine; `original` is absolute. `grace_until` None: it never expires."""

    operation: str
    kind: str
    original: bytes
    allocated_bytes: int
    freed_bytes: int
    since: datetime
    grace_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """By absolute path; empty without a catalog. `clock_trusted` false: nothing may count as expired."""

    by_path: Mapping[bytes, Known] = field(default_factory=dict)
    set_aside: tuple[SetAside, ...] = ()
    clock_trusted: bool = True

    def of(self, path: bytes) -> Known | None:
        """Return what is known at exactly this path."""
        return self.by_path.get(path)
