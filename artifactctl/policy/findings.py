"""What is wrong with policy files: stable codes, the exact place, and one line that says what to write instead."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from artifactctl.domain.errors import UsageError
from artifactctl.domain.text import printable
from artifactctl.policy.ruleset import Place


class Level(StrEnum):
    """Whether a file with this finding can be used."""

    ERROR = "error"
    WARNING = "warning"


class Code(StrEnum):
    """The lint catalogue; a code never changes its meaning (policies/README.md explains each)."""

    SCHEMA = "AP001"
    YAML = "AP002"
    UNREACHABLE = "AP010"
    MATCHES_NOTHING = "AP011"
    LONE_GROUPS = "AP012"
    METRIC_ABSENT = "AP013"
    UNKNOWN_THROUGHOUT = "AP014"
    UNIT = "AP020"
    LIMITS = "AP021"
    UNTESTED = "AP030"
    FIXTURE = "AP031"
    EXPIRES = "AP040"
    SHORT_QUARANTINE = "AP050"

    @property
    def level(self) -> Level:
        """How bad it is unless `--require-tests` makes it worse."""
        return Level.WARNING if self in _WARNINGS else Level.ERROR

    @property
    def meaning(self) -> str:
        """What the code stands for, in a few words."""
        return _MEANINGS[self]


_WARNINGS = frozenset(
    {
        Code.MATCHES_NOTHING,
        Code.LONE_GROUPS,
        Code.METRIC_ABSENT,
        Code.UNKNOWN_THROUGHOUT,
        Code.UNTESTED,
        Code.EXPIRES,
        Code.SHORT_QUARANTINE,
    }
)

_MEANINGS = {
    Code.SCHEMA: "a key, value or syntax that the format does not have",
    Code.YAML: "a duplicate, an anchor, a tag, or text that is not UTF-8",
    Code.UNREACHABLE: "a rule that can never match, or that an earlier one hides",
    Code.MATCHES_NOTHING: "matches nothing in the catalog",
    Code.LONE_GROUPS: "every group holds one artifact, so keep.last keeps all",
    Code.METRIC_ABSENT: "nothing that is matched has this metric",
    Code.UNKNOWN_THROUGHOUT: "what is asked for is unknown of everything in the catalog, and unknown keeps",
    Code.UNIT: "a size, duration or share without a clear unit",
    Code.LIMITS: "limits are missing, or looser than the site allows",
    Code.UNTESTED: "a rule or protect without a test",
    Code.FIXTURE: "a test says something that no artifact has",
    Code.EXPIRES: "a protect that ends soon or has ended",
    Code.SHORT_QUARANTINE: "the quarantine is shorter than people took to restore",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong at one place."""

    place: Place
    code: Code
    message: str
    level: Level

    def __str__(self) -> str:
        return printable(f"{self.place}: {self.code} {self.message}")


def finding(place: Place, code: Code, message: str) -> Finding:
    """Return a finding at the level of its code; what the file holds cannot break the line."""
    return Finding(place=place, code=code, message=printable(message), level=code.level)


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings by file, line, column and code, each once."""
    return tuple(
        sorted(
            dict.fromkeys(findings),
            key=lambda item: (item.place.file, item.place.line, item.place.column, item.code, item.message),
        )
    )


class PolicyUnusable(UsageError):
    """Policy files say something that cannot be followed; `findings` lists all of it."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = in_order(findings)
        first, *others = map(str, self.findings)
        super().__init__(
            first,
            further=others,
            remedy="correct the policy; `artifactctl policy lint FILE` says the same, for people and programs",
        )
