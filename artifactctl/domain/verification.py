"""The outcome of a verification."""

from dataclasses import dataclass

from artifactctl.domain.artifacts import VerifyLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How deep a verification looks: to which level, and whether every number of hidden states has to be finite."""

    level: VerifyLevel = VerifyLevel.HEADERS
    reads_values: bool = False


@dataclass(frozen=True, slots=True)
class ToRedo:
    """A record, or a file where records have none of their own, that has to be made again, and why.

    `record` is None for a file that holds no single record, `member` empty for a record that has no file.
    """

    record: int | None
    member: bytes
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """The verification of one copy on the machine `host`. `tokens` and `records` are what was found, None where nothing
    was counted.

    `redo` is what of a dump of hidden states has to be made again, None where nobody asked for it. `reservations` say
    why a copy that was found whole does not count as proof when something else is to go.
    """

    name: str
    host: str
    path: bytes
    ok: bool
    level: VerifyLevel
    problems: tuple[str, ...]
    tokens: int | None = None
    records: int | None = None
    reservations: tuple[str, ...] = ()
    redo: tuple[ToRedo, ...] | None = None
