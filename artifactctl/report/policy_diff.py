"""The impact of a policy change as text and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.policy.comparing import Change, Effect
from artifactctl.policy.differing import Impact, PolicyDifference, Removal, bytes_of
from artifactctl.policy.edits import Edit
from artifactctl.report.caps import spell_exceeded
from artifactctl.report.instants import format_instant
from artifactctl.report.json_values import rfc3339
from artifactctl.report.policy_additions import HEADING, additions_payload, additions_table
from artifactctl.report.sizes import counted, format_bytes
from artifactctl.report.tables import Column, Document, Table, columns

MOST_SHOWN = 10
"""Of each class, in text; JSON has all."""

WHEN = ("now", "in 7 days", "in 30 days")
_FIELDS = ("now", "in_7_days", "in_30_days")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffAnswer:
    """A difference with the words that named the two policies and the catalog, and the digests of the policies."""

    old: str
    new: str
    old_digest: str
    new_digest: str
    catalog: str
    difference: PolicyDifference


CLASSES = {
    Effect.NEWLY_RECLAIMED: ("-", "would newly be reclaimed"),
    Effect.NEWLY_KEPT: ("+", "would newly be kept"),
    Effect.LOST_PROTECTION: ("!", "loses protection"),
    Effect.REASON_CHANGED: (" ", "other reason, same decision"),
}
"""By effect: its mark, and what it says of artifacts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The artifacts of one class, the largest first: those of today, or those that join later."""

    heading: str
    changes: tuple[Change, ...]
    days: tuple[date, ...] = ()

    def table(self, most: int) -> Table:
        """Return the first ones with what is decided about them before and after, and from which day."""
        titles = ("artifact", "kind", ">bytes", "was", "becomes")
        rows = tuple(_change_cells(change) for change in self.changes[:most])
        if not self.days:
            return Table(columns=columns(*titles), rows=rows)
        dated = tuple((day.isoformat(), *cells) for day, cells in zip(self.days, rows, strict=False))
        return Table(columns=columns("from", *titles), rows=dated)


def diff_document(answer: DiffAnswer) -> Document:
    """Return the difference for people: edits, how much moves when, the largest of each class, the risk."""
    difference = answer.difference
    document: list[str | Table] = [head_line(answer), "", edits_table(difference.edits)]
    if difference.configured:
        document += ["", HEADING, additions_table(difference.configured)]
    document += ["", numbers_table(difference)]
    if removed := removal_lines(difference):
        document += ["", *removed]
    if refused := refusal_lines(difference):
        document += ["", *refused]
    for listing in listings(difference):
        document += ["", f"{listing.heading}, the largest first", listing.table(MOST_SHOWN)]
        if len(listing.changes) > MOST_SHOWN:
            document.append(f"and {len(listing.changes) - MOST_SHOWN:,} more")
    return [*document, "", risk_line(difference)]


def head_line(answer: DiffAnswer) -> str:
    """Return which policies, over which catalog, as of when."""
    taken_at = format_instant(answer.difference.taken_at)
    artifacts = counted(answer.difference.population, "artifact")
    return (
        f"policy diff  {printable(answer.old)} -> {printable(answer.new)}    {answer.catalog} {taken_at} ({artifacts})"
    )


def edits_table(edits: Sequence[Edit]) -> Table:
    """Return what was written differently."""
    rows = [(edit.section, edit.mark.value, printable(edit.name), printable(edit.what)) for edit in edits]
    return Table(columns=columns("section", "", "name", "change"), rows=tuple(rows), empty="the policies say the same")


def numbers_table(difference: PolicyDifference) -> Table:
    """Return how many artifacts and bytes are in each class at each instant."""
    rows = []
    for effect, (mark, heading) in CLASSES.items():
        cells = [mark, heading]
        for impact in difference.impacts:
            changes = impact.changes[effect]
            cells += [f"{len(changes):,}", format_bytes(bytes_of([change.facts for change in changes]))]
        rows.append(tuple(cells))
    titles = [Column(title=""), Column(title="artifacts that")]
    for when in WHEN:
        titles += [Column(title=when, right=True), Column(title="bytes", right=True)]
    return Table(columns=tuple(titles), rows=tuple(rows))


def removal_lines(difference: PolicyDifference) -> list[str]:
    """Return a line for each rule and protect that is no more, with what it decided about today."""
    what = {"rules": "rule", "protect": "protect"}
    return [
        f"the {what[removal.section]} {printable(removal.name)} is REMOVED; today it decides about "
        f"{counted(len(removal.artifacts), 'artifact')}, {format_bytes(bytes_of(removal.artifacts))}"
        for removal in difference.impacts[0].removed
    ]


def refusal_lines(difference: PolicyDifference) -> list[str]:
    """Return a line for each limit that would refuse the run, for the first instant at which it does."""
    first: dict[tuple[str, object], str] = {}
    for when, impact in zip(WHEN, difference.impacts, strict=True):
        for cap in impact.exceeded:
            first.setdefault((cap.name, cap.kind), f"{when}, a run would be REFUSED: {spell_exceeded(cap)}")
    return list(first.values())


def listings(difference: PolicyDifference) -> list[Listing]:
    """Return the artifacts of each class that has any: today's, then those that join it until the last instant."""
    found = []
    for effect, (_, heading) in CLASSES.items():
        if changes := difference.impacts[0].changes[effect]:
            found.append(Listing(heading=heading, changes=changes))
        if joining := [each for each in difference.joining if each.effect is effect]:
            found.append(
                Listing(
                    heading=f"{heading} later, {WHEN[-1]} at the latest",
                    changes=tuple(each.change for each in joining),
                    days=tuple(each.on for each in joining),
                )
            )
    return found


def _change_cells(change: Change) -> tuple[str, ...]:
    return (
        printable(change.facts.name),
        change.facts.kind.value,
        format_bytes(change.facts.allocated_bytes),
        printable(change.before.sentence),
        printable(change.after.sentence),
    )


def risk_line(difference: PolicyDifference) -> str:
    """Return the risk and what makes it so."""
    reasons = []
    if difference.loses_protection:
        reasons.append("protection is lost")
    if difference.refused:
        reasons.append("a run would be refused")
    if not reasons and difference.reclaims_more:
        reasons.append("more would be reclaimed")
    elif not reasons and difference.risk != "mild":
        reasons.append("limits or waiting times differ")
    return f"risk: {difference.risk.value}" + (f" ({'; '.join(reasons)})" if reasons else "")


def diff_payload(answer: DiffAnswer) -> dict[str, Any]:
    """Return the fields of cli.md, `policy diff --json`."""
    difference = answer.difference
    return {
        "old": answer.old,
        "new": answer.new,
        "old_digest": answer.old_digest,
        "new_digest": answer.new_digest,
        "taken_at": rfc3339(difference.taken_at),
        "artifacts": difference.population,
        "edits": [
            {"section": edit.section, "mark": edit.mark.value, "name": edit.name, "change": edit.what}
            for edit in difference.edits
        ],
        "configured": additions_payload(difference.configured),
        **{field: _impact(impact) for field, impact in zip(_FIELDS, difference.impacts, strict=True)},
        "joining": [
            {"effect": each.effect.value, "on": each.on.isoformat(), **_change(each.change)}
            for each in difference.joining
        ],
        "loses_protection": difference.loses_protection,
        "refused": difference.refused,
        "risk": difference.risk.value,
    }


def _impact(impact: Impact) -> dict[str, Any]:
    return {
        "at": rfc3339(impact.at),
        **{effect.value: [_change(change) for change in changes] for effect, changes in impact.changes.items()},
        "removed_rules": [_removal(removal) for removal in impact.removed],
        **{
            f"{effect.value}_bytes": bytes_of([change.facts for change in changes])
            for effect, changes in impact.changes.items()
        },
        "exceeded_caps": [
            {
                "name": cap.name.value,
                "kind": None if cap.kind is None else cap.kind.value,
                "limit": cap.limit,
                "used": cap.used,
                "exceeded_by": cap.excess,
            }
            for cap in impact.exceeded
        ],
    }


def _change(change: Change) -> dict[str, Any]:
    def decision(value: Any) -> dict[str, Any]:
        action = "keep" if value.action is None else value.action.value
        return {"decision": action, "because": value.because, "rule": value.rule, "sentence": value.sentence}

    lost = {"protect": change.protect} if change.protect else {}
    return {
        "name": change.facts.name,
        "kind": change.facts.kind.value,
        "allocated_bytes": change.facts.allocated_bytes,
        **lost,
        "before": decision(change.before),
        "after": decision(change.after),
    }


def _removal(removal: Removal) -> dict[str, Any]:
    return {
        "section": removal.section,
        "name": removal.name,
        "artifacts": [facts.name for facts in removal.artifacts],
        "allocated_bytes": bytes_of(removal.artifacts),
    }
