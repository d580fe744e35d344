"""What a policy decides about one artifact, and in which sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from artifactctl.policy.ruleset import Action


class Holds(StrEnum):
    """The three answers of one test; what cannot be decided keeps."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of one artifact. `action` is None when it is kept.

    `because` is the word for scripts and tests: `protect.NAME`, `builtin.held`, `builtin.leased`,
    `builtin.unfinished_run`, `builtin.incomplete`, `builtin.not_live`, `defaults.min_age`, `keep.last`, `keep.best`,
    `keep.every`, `keep.newer_than`, `keep.needed_by`, `require.successor`, `require.rebuildable`,
    `require.min_copies`, `empty_group`, `match_unknown` (whether `rule` matches cannot be decided), `no_rule`, or for
    what may go `rule.NAME`. `rule` is the first rule that matched or may match, "" when none does. `sentence` says it
    to a person: `keep: metric eval/x missing`.
    """

    action: Action | None
    because: str
    sentence: str
    rule: str = ""

    @property
    def kept(self) -> bool:
        """Whether it stays."""
        return self.action is None

    @property
    def built_in(self) -> bool:
        """Whether it stays by what no policy removes."""
        return self.because.startswith("builtin.")

    @property
    def protected(self) -> bool:
        """Whether a protect of the policy keeps it."""
        return self.because.startswith("protect.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The decision about every artifact of a view, by artifact id."""

    decisions: Mapping[int, Decision]
    now: datetime

    @property
    def offered(self) -> Mapping[int, Decision]:
        """Those that may go."""
        return {key: decision for key, decision in self.decisions.items() if not decision.kept}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleVerdict:
    """What one protect or rule says of one artifact, for `policy explain`. `decided`: this is the one that decided."""

    name: str
    section: str
    matches: Holds
    sentence: str
    decided: bool
