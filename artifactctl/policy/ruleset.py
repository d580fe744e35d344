"""The effective policy as values: what is protected, what rules offer, and how much one run may take.

These are what a policy file means once it has been read; `artifactctl/policy/language.py` is how it is written.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from artifactctl.domain.artifacts import ArtifactKind, LineageRole, RunState


class Action(StrEnum):
    """What a rule does with what it offers; both can be undone. There is no `delete`."""

    QUARANTINE = "quarantine"
    ARCHIVE = "archive"


class MetricMode(StrEnum):
    """Which direction of a metric is the better one."""

    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something stands in a policy file, counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """Conditions that must all hold; an empty one asks nothing.

    Names, paths, tags and label values are patterns: `*` stands for anything but `/`, `**` for anything, `?` for one
    character but `/`, all else for itself. Ages count from the artifact's creation.
    """

    kinds: tuple[ArtifactKind, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    any_tag: tuple[str, ...] = ()
    all_tags: tuple[str, ...] = ()
    pinned: bool | None = None
    superseded: bool | None = None
    successor_verified: bool | None = None
    rebuildable: bool | None = None
    complete: bool | None = None
    verified: bool | None = None
    producer_states: tuple[RunState, ...] = ()
    older_than: timedelta | None = None
    newer_than: timedelta | None = None
    larger_than_bytes: int | None = None
    smaller_than_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepLast:
    """Keep the newest `n` of each group: by step where both have one, else by creation."""

    n: int
    group_by: tuple[str, ...]

    def __post_init__(self) -> None:
        _require_number_and_group(self.n, self.group_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepBest:
    """Keep the `n` best of each group by a metric."""

    n: int
    metric: str
    mode: MetricMode
    group_by: tuple[str, ...]

    def __post_init__(self) -> None:
        _require_number_and_group(self.n, self.group_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepEvery:
    """Keep every checkpoint whose step is a multiple of `steps`."""

    steps: int

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError("every so many steps means at least one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A child in the lineage: of one of `kinds` (empty: any), in one of `roles` (empty: any but `supersedes`)."""

    kinds: tuple[ArtifactKind, ...] = ()
    roles: tuple[LineageRole, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Reasons to keep; any one that holds, or that cannot be decided, keeps."""

    last: KeepLast | None = None
    best: KeepBest | None = None
    every: KeepEvery | None = None
    newer_than: timedelta | None = None
    needed_by: Relation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequireSuccessor:
    """Something that came out of it must live: a child by lineage, or (`supersedes`) what takes its place."""

    relation: Relation
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Require:
    """What must all hold before it may go. `min_copies`: verified copies that must be left when one has gone."""

    successor: RequireSuccessor | None = None
    rebuildable: bool = False
    min_copies: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Protect:
    """What may not go whatever the rules say; with `expires`, until then."""

    name: str
    reason: str
    match: Matcher
    expires: datetime | None = None
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Offers what it matches, unless a reason keeps it or a requirement is not met.

    `allow_empty_groups`: a run of which `keep.every` keeps nothing may go whole; else its newest stays. What `last` and
    `best` group always keeps one.
    """

    name: str
    match: Matcher
    description: str = ""
    keep: Keep = Keep()
    require: Require = Require()
    action: Action = Action.QUARANTINE
    allow_empty_groups: bool = False
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on a whole run, and on a day (UTC); exceeding one refuses the run, it never trims. None: no bound.

    `max_share_of_kind` is a fraction of the artifacts of a kind, counted from ten of that kind up. Above
    `approval_above_bytes` somebody other than the planner must approve; above `approval_on_jump` times what the largest
    of the last runs took, too.
    """

    max_bytes: int
    max_artifacts: int
    max_share_of_kind: float | None = None
    max_bytes_per_day: int | None = None
    max_artifacts_per_day: int | None = None
    approval_above_bytes: int | None = None
    approval_on_jump: float | None = None

    def __post_init__(self) -> None:
        if self.max_bytes < 0 or self.max_artifacts < 0:
            raise ValueError("a cap cannot be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What holds: everything read from the files of one policy, merged."""

    name: str
    limits: Limits
    protects: tuple[Protect, ...] = ()
    rules: tuple[Rule, ...] = ()
    min_age: timedelta = timedelta(0)
    quiet_time: timedelta = timedelta(minutes=15)
    grace: timedelta = timedelta(days=7)
    owner: str = ""

    def __post_init__(self) -> None:
        if self.grace < timedelta(0) or self.quiet_time < timedelta(0) or self.min_age < timedelta(0):
            raise ValueError("a waiting time cannot be negative")

    @property
    def digest(self) -> str:
        """SHA-256 in hex over everything that decides; where it stands in a file does not."""
        text = json.dumps(_plain(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def tightened(
        self,
        *,
        max_bytes: int | None = None,
        max_artifacts: int | None = None,
        quiet_time: timedelta | None = None,
        grace: timedelta | None = None,
    ) -> "Policy":
        """Return this policy with each limit moved to the safer side only; a looser wish changes nothing."""
        limits = replace(
            self.limits,
            max_bytes=_stricter(min, self.limits.max_bytes, max_bytes),
            max_artifacts=_stricter(min, self.limits.max_artifacts, max_artifacts),
        )
        return replace(
            self,
            limits=limits,
            quiet_time=_stricter(max, self.quiet_time, quiet_time),
            grace=_stricter(max, self.grace, grace),
        )


def _require_number_and_group(n: int, group_by: tuple[str, ...]) -> None:
    if n < 1:
        raise ValueError("to keep of each group means at least one")
    if not group_by:
        raise ValueError("what is kept of each group needs `group_by`")


def _stricter(choose: Callable[[Any, Any], Any], present: Any, wanted: Any | None) -> Any:
    return present if wanted is None else choose(present, wanted)


def _plain(value: object) -> object:
    """Return `value` as JSON-safe data, places left out."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name != "place"}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if isinstance(value, datetime) else value
