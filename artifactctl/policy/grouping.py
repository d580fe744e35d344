"""Which members of each group a rule keeps: the last, the best.

Members are the complete, living artifacts that a rule is the first to match. Numbers are compared as numbers. What has
no group, or no value of the metric, cannot be ranked: it is kept, and takes nobody's place.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from artifactctl.policy.conditions import label_of
from artifactctl.policy.facts import Facts
from artifactctl.policy.ruleset import KeepBest, KeepLast, MetricMode
from artifactctl.policy.wording import spell_group

Key = tuple[str, ...]
Sentences = dict[int, str]
"""By artifact id: why it stays."""

_READERS: Mapping[str, Callable[[Facts], str]] = {
    "run": lambda facts: facts.run,
    "kind": lambda facts: facts.kind.value,
    "root": lambda facts: facts.root,
    "folder": lambda facts: facts.path.rpartition("/")[0],
}
LABELS = "labels."
OF_A_RUN: Key = ("run",)


def group_of(facts: Facts, group_by: Key) -> Key:
    """Return the values of the fields, "" for each one that is missing. ValueError for a field there is not."""
    return tuple(_reader(field)(facts) for field in group_by)


def kept_last(keep: KeepLast, members: Sequence[Facts]) -> Sentences:
    """Return the newest of each group, and what belongs to none."""
    kept, groups = _grouped(members, keep.group_by)
    for values, group in groups.items():
        where = spell_group(keep.group_by, values)
        for ranking in _rankings(group):
            for place, facts in enumerate(ranking[: keep.n], start=1):
                kept.setdefault(facts.artifact_id, f"{_placed(place, keep.n, 'newest')} of {where}")
    return kept


def kept_best(keep: KeepBest, members: Sequence[Facts]) -> Sentences:
    """Return the best of each group by the metric, what has no such metric, and what belongs to no group."""
    measured: dict[int, float] = {}
    unmeasured: Sentences = {}
    for facts in members:
        value = metric_of(facts, keep.metric)
        if value is None:
            unmeasured[facts.artifact_id] = f"metric {keep.metric} missing"
        else:
            measured[facts.artifact_id] = value
    ungrouped, groups = _grouped([facts for facts in members if facts.artifact_id in measured], keep.group_by)
    kept = unmeasured | ungrouped
    sign = 1.0 if keep.mode is MetricMode.MAX else -1.0
    for values, group in groups.items():
        where = spell_group(keep.group_by, values)
        ranking = sorted(group, key=lambda facts: (sign * measured[facts.artifact_id], _by_step(facts)), reverse=True)
        for place, facts in enumerate(ranking[: keep.n], start=1):
            value = measured[facts.artifact_id]
            kept[facts.artifact_id] = (
                f"{_placed(place, keep.n, 'best')} of {where} by {keep.metric} ({keep.mode.value}): {value:g}"
            )
    return kept


def emptied(group_by: Key, members: Sequence[Facts], kept: Iterable[int]) -> Sentences:
    """Return the newest member of each group of which nobody is in `kept`, and whatever else belongs to no group."""
    staying = frozenset(kept)
    nowhere, groups = _grouped(members, group_by)
    found = {artifact_id: reason for artifact_id, reason in nowhere.items() if artifact_id not in staying}
    for values, group in groups.items():
        if not any(facts.artifact_id in staying for facts in group):
            where = spell_group(group_by, values)
            for ranking in _rankings(group):
                found[ranking[0].artifact_id] = f"the newest of {where}, which would be empty without it"
    return found


def metric_of(facts: Facts, metric: str) -> float | None:
    """Return the value of a metric; None when it was never recorded or is not a number."""
    value = next((value for name, value in facts.metrics if name == metric), None)
    return None if value is None or math.isnan(value) else value


def _placed(place: int, n: int, superlative: str) -> str:
    return f"the {superlative}" if n == 1 else f"no. {place} of the {n} {superlative}"


def _grouped(members: Iterable[Facts], group_by: Key) -> tuple[Sentences, dict[Key, list[Facts]]]:
    """Return what belongs to no group and why, and the groups."""
    readers = [_reader(field) for field in group_by]
    groups: dict[Key, list[Facts]] = defaultdict(list)
    nowhere: Sentences = {}
    for facts in members:
        values = tuple([read(facts) for read in readers])
        if "" not in values:
            groups[values].append(facts)
        else:
            missing = [field for field, value in zip(group_by, values, strict=True) if not value]
            nowhere[facts.artifact_id] = f"{', '.join(missing)} missing"
    return nowhere, groups


def _reader(field: str) -> Callable[[Facts], str]:
    if field.startswith(LABELS):
        key = field.removeprefix(LABELS)
        return lambda facts: label_of(facts, key)
    if field not in _READERS:
        raise ValueError(f"artifacts cannot be grouped by `{field}`")
    return _READERS[field]


def _rankings(group: list[Facts]) -> list[list[Facts]]:
    """Return the group newest first: by step where all have one, else by creation.

    Where only some have a step, "by step where both have one, else by creation" is not an order (it can go round in
    circles): both orders are returned, and what either of them keeps stays.
    """
    with_step = [facts for facts in group if facts.step is not None]
    if len(with_step) == len(group):
        return [sorted(group, key=_by_step, reverse=True)]
    by_creation = sorted(group, key=lambda facts: (facts.created_at, facts.artifact_id), reverse=True)
    return [by_creation, sorted(with_step, key=_by_step, reverse=True)] if with_step else [by_creation]


def _by_step(facts: Facts) -> tuple[float, datetime, int]:
    step = -math.inf if facts.step is None else facts.step
    return step, facts.created_at, facts.artifact_id
