"""On which day an artifact that a change of policy does not touch today will be touched. Pure.

Between two instants the days are halved. What is asked then is the artifacts in question and whatever shares a group
with one of them under some rule: nobody else has a say in what becomes of them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from artifactctl.policy.comparing import Change, Comparison, Effect
from artifactctl.policy.evaluating import Hearing
from artifactctl.policy.facts import CatalogueView, Facts
from artifactctl.policy.grouping import group_of
from artifactctl.policy.ruleset import Policy
from artifactctl.policy.ruling import groupings_of

Touched = tuple[int, Effect]
"""An artifact by its id, and what becomes of it."""

_DAY, _MOMENT = timedelta(days=1), timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """What a change of policy does to an artifact from the day `on` (UTC) on; `change` is that of the day."""

    effect: Effect
    change: Change
    on: date


class Calendar:
    """Two policies and a view, asked for days."""

    def __init__(self, old: Policy, new: Policy, view: CatalogueView) -> None:
        self._old, self._new, self._view = old, new, view
        keys = {key for policy in (old, new) for rule in policy.rules for key in groupings_of(rule)}
        self._groups = [[group_of(facts, key) for facts in view.artifacts] for key in sorted(keys)]

    def joinings(
        self, changes: Mapping[Touched, Change], *, after: datetime, until: datetime
    ) -> dict[Touched, Joining]:
        """Return the day of each of `changes`, which are those at the instant `until` and not yet at `after`."""
        return dict(self._halve(changes, _ends_of_days(after, until)))

    def _halve(
        self, changes: Mapping[Touched, Change], instants: Sequence[datetime]
    ) -> Iterator[tuple[Touched, Joining]]:
        """Yield the day of each change, given as it is at the last of the instants."""
        if not changes:
            return
        if len(instants) == 1:
            for key, change in changes.items():
                yield key, Joining(effect=key[1], change=change, on=instants[0].date())
            return
        middle = len(instants) // 2
        present = self._changes_at(instants[middle - 1], {number for number, _ in changes})
        yield from self._halve({key: present[key] for key in changes if key in present}, instants[:middle])
        yield from self._halve({key: changes[key] for key in changes if key not in present}, instants[middle:])

    def _changes_at(self, now: datetime, numbers: Collection[int]) -> dict[Touched, Change]:
        around = self._around(numbers)
        comparison = Comparison(self._old, self._new, Hearing(replace(self._view, artifacts=around)), now=now)
        asked = (facts for facts in around if facts.artifact_id in numbers)
        return {(facts.artifact_id, effect): change for facts in asked for effect, change in comparison.changes(facts)}

    def _around(self, numbers: Collection[int]) -> tuple[Facts, ...]:
        artifacts = self._view.artifacts
        places = {place for place, facts in enumerate(artifacts) if facts.artifact_id in numbers}
        chosen = set(places)
        for groups in self._groups:
            wanted = {groups[place] for place in places}
            chosen.update(place for place, group in enumerate(groups) if group in wanted)
        return tuple(artifacts[place] for place in sorted(chosen))


def _ends_of_days(after: datetime, until: datetime) -> list[datetime]:
    """Return the last moment of every day (UTC) from `after` on, and `until` as the last one."""
    midnight = datetime.combine(after.date(), time(), tzinfo=after.tzinfo) + _DAY
    found = []
    while midnight <= until:
        found.append(midnight - _MOMENT)
        midnight += _DAY
    return [*found, until]
