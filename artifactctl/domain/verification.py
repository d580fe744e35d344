"""The outcome of a verification."""

from dataclasses import dataclass

from artifactctl.domain.artifacts import VerifyLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """The verification of one copy on the machine `host`. `tokens` and `records` are what was found, None where nothing
    was counted.

    `reservations` say why a copy that was found whole does not count as proof when something else is to go.
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
