"""What first aid found out, as values that can be shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.observation import Holder, VolumeUsage
from artifactctl.hosts.protocol import DeletedHolder


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSeen:
    """A process that writes. `path` is its fastest growing file, b"" when it keeps none open long enough to be seen.

    `is_certain` is false when it wrote to some device meanwhile and this volume is only the likely one.
    """

    pid: int
    command: str
    path: bytes
    bytes_per_second: float
    is_certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RescueCandidate:
    """Something that could go. `path` is absolute; `freed_bytes` leaves out what other names keep.

    `held_by` and `promised` name every use and promise that was seen; `caution` says what else keeps it out of the
    suggested command. `is_settled` is false when it changed or was read a short while ago. `is_registered`:
    the catalog knows it. `operation` is set for what lies in quarantine already.
    """

    path: bytes
    kind: str
    allocated_bytes: int
    freed_bytes: int
    why: str
    regret: int
    modified_at: datetime
    is_settled: bool = True
    is_registered: bool = False
    held_by: tuple[Holder, ...] = ()
    promised: tuple[str, ...] = ()
    operation: str = ""
    caution: str = ""

    @property
    def is_free_to_go(self) -> bool:
        """Whether nothing that was seen keeps it out of the command."""
        return not (self.held_by or self.promised or self.caution)


@dataclass(frozen=True, slots=True, kw_only=True)
class RescueKept:
    """Something large that is not offered, with the reason."""

    path: bytes
    kind: str
    allocated_bytes: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """How fast the volume fills. `bytes_per_second` 0: it does not; None: it could not be measured."""

    bytes_per_second: float | None
    full_at: datetime | None
    watched_seconds: float
    processes_denied: int = 0
    is_from_volume: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of the tree was seen. `stopped_in` and `unreached` are absolute; empty when it was all of it."""

    entries: int
    seen_bytes: int
    complete: bool
    stopped_in: bytes = b""
    unreached: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAid:
    """The whole answer. `available_bytes` is what the tightest limit still lets through, named by `limited_by`.

    `needed_bytes` is what the person asked for; `target_bytes` what the command is made to free, 0 for nothing.
    """

    path: bytes
    usage: VolumeUsage
    available_bytes: int
    limited_by: str
    made_at: datetime
    filling: Filling
    writers: tuple[WriterSeen, ...]
    candidates: tuple[RescueCandidate, ...]
    kept: tuple[RescueKept, ...]
    deleted_open: tuple[DeletedHolder, ...]
    quarantined_bytes: int
    coverage: Coverage
    needed_bytes: int | None
    target_bytes: int
    chosen: tuple[RescueCandidate, ...]
    suggested_command: str
    unclaimed: tuple[tuple[bytes, int], ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def chosen_bytes(self) -> int:
        """What the suggested command would free, as far as is known."""
        return freed_by(self.chosen)


def freed_by(candidates: Sequence[RescueCandidate]) -> int:
    """Return what all of them free together."""
    return sum(candidate.freed_bytes for candidate in candidates)
