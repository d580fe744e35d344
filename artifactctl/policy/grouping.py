"""Which members of each group a rule keeps: the last, the best.

Members are the complete, living artifacts that a rule is the first to match. Numbers are compared as numbers. What has
no group, or no value of the metric, cannot be ranked: it is kept, and takes nobody's place.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from artifactctl.policy.conditions import label_of
from artifactctl.policy.facts import Facts
from artifactctl.policy.ruleset import KeepBest, KeepLast, MetricMode
from artifactctl.policy.wording import spell_group

Key = tuple[str, ...]
Sentences = dict[int, str]
"""By artifact id: why it stays."""

_READERS: Mapping[str, Callable[[Facts], str]] = {
    "run": attrgetter("run"),
    "kind": lambda facts: facts.kind.value,
    "root": attrgetter("root"),
    "folder": lambda facts: facts.path.rpartition("/")[0],
}
LABELS = "labels."
OF_A_RUN: Key = ("run",)


def group_of(facts: Facts, group_by: Key) -> Key:
    """Return the values of the fields, "" for each one that is missing. ValueError for a field there is not."""
    return tuple(_reader(field)(facts) for field in group_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """The members of a rule by what a grouping asks: `nowhere` says why one belongs to no group, by artifact id."""

    group_by: Key
    nowhere: Sentences
    groups: Mapping[Key, Sequence[Facts]]


def grouped(members: Iterable[Facts], group_by: Key) -> Grouped:
    """Return the groups, and what belongs to none since a field of it is not known."""
    everyone = tuple(members)
    fields = [map(_reader(field), everyone) for field in group_by]
    groups: dict[Key, list[Facts]] = defaultdict(list)
    nowhere: Sentences = {}
    for facts, values in zip(everyone, zip(*fields, strict=True), strict=True):
        if "" not in values:
            groups[values].append(facts)
        else:
            missing = [field for field, value in zip(group_by, values, strict=True) if not value]
            nowhere[facts.artifact_id] = f"{', '.join(missing)} missing"
    return Grouped(group_by=group_by, nowhere=nowhere, groups=groups)


def kept_last(keep: KeepLast, members: Grouped) -> Sentences:
    """Return the newest of each group, and what belongs to none."""
    kept = dict(members.nowhere)
    for values, group in members.groups.items():
        where = spell_group(keep.group_by, values)
        for newest in _newest(group, keep.n):
            for place, facts in enumerate(newest, start=1):
                kept.setdefault(facts.artifact_id, f"{_placed(place, keep.n, 'newest')} of {where}")
    return kept


def kept_best(keep: KeepBest, members: Grouped, everyone: Iterable[Facts]) -> Sentences:
    """Return the best of each group by the metric, what has no such metric, and what belongs to no group.

    `everyone`: the same members, those of no group included.
    """
    sign = 1.0 if keep.mode is MetricMode.MAX else -1.0
    values_of = {facts.artifact_id: metric_of(facts, keep.metric) for facts in everyone}
    measured = {key: sign * value for key, value in values_of.items() if value is not None}
    missing = f"metric {keep.metric} missing"
    kept = members.nowhere | {key: missing for key, value in values_of.items() if value is None}
    for values, group in members.groups.items():
        where = spell_group(keep.group_by, values)
        for place, facts in enumerate(_best(group, measured, keep.n), start=1):
            value = sign * measured[facts.artifact_id]
            kept[facts.artifact_id] = (
                f"{_placed(place, keep.n, 'best')} of {where} by {keep.metric} ({keep.mode.value}): {value:g}"
            )
    return kept


def emptied(members: Grouped, kept: Container[int]) -> Sentences:
    """Return the newest member of each group of which nobody is in `kept`, and whatever else belongs to no group."""
    found = {artifact_id: reason for artifact_id, reason in members.nowhere.items() if artifact_id not in kept}
    for values, group in members.groups.items():
        if not any(facts.artifact_id in kept for facts in group):
            where = spell_group(members.group_by, values)
            for newest in _newest(group, 1):
                found[newest[0].artifact_id] = f"the newest of {where}, which would be empty without it"
    return found


def metric_of(facts: Facts, metric: str) -> float | None:
    """Return the value of a metric; None when it was never recorded or is not a number."""
    for name, value in facts.metrics:
        if name == metric:
            return None if math.isnan(value) else value
    return None


def _placed(place: int, n: int, superlative: str) -> str:
    return f"the {superlative}" if n == 1 else f"no. {place} of the {n} {superlative}"


def _reader(field: str) -> Callable[[Facts], str]:
    if field.startswith(LABELS):
        key = field.removeprefix(LABELS)
        return lambda facts: label_of(facts, key)
    if field not in _READERS:
        raise ValueError(f"artifacts cannot be grouped by `{field}`")
    return _READERS[field]


def _newest(group: Sequence[Facts], n: int) -> list[list[Facts]]:
    """Return the `n` newest of the group, newest first: by step where all have one, else by creation.

    Where only some have a step, "by step where both have one, else by creation" is not an order (it can go round in
    circles): both orders are returned, and what either of them keeps stays.
    """
    with_step = [facts for facts in group if facts.step is not None]
    if len(with_step) == len(group):
        return [sorted(group, key=_BY_STEP, reverse=True)[:n]]
    by_creation = sorted(group, key=_BY_CREATION, reverse=True)[:n]
    return [by_creation, sorted(with_step, key=_BY_STEP, reverse=True)[:n]] if with_step else [by_creation]


def _best(group: Iterable[Facts], measured: Mapping[int, float], n: int) -> list[Facts]:
    """Return the `n` of the group with the largest values, largest first; of equal ones the newest."""
    found = [facts for facts in group if facts.artifact_id in measured]
    if len(found) > n:  # only what has a chance is ranked in full
        least = sorted([measured[facts.artifact_id] for facts in found], reverse=True)[n - 1]
        found = [facts for facts in found if measured[facts.artifact_id] >= least]
    found.sort(key=lambda facts: (measured[facts.artifact_id], _step_or_none_first(facts)), reverse=True)
    return found[:n]


def _step_or_none_first(facts: Facts) -> tuple[float, datetime, int]:
    step = -math.inf if facts.step is None else facts.step
    return step, facts.created_at, facts.artifact_id


_BY_STEP = attrgetter("step", "created_at", "artifact_id")
_BY_CREATION = attrgetter("created_at", "artifact_id")
