"""The impact of a policy change as text and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.policy.differing import Change, Impact, PolicyDifference, Removal, bytes_of
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


def classes_of(impact: Impact) -> tuple[tuple[str, str, str, tuple[Change, ...]], ...]:
    """Return (mark, heading, JSON field, changes) of the four classes."""
    return (
        ("-", "would newly be reclaimed", "newly_reclaimed", impact.newly_reclaimed),
        ("+", "would newly be kept", "newly_kept", impact.newly_kept),
        ("!", "loses protection", "lost_protection", impact.lost_protection),
        (" ", "other reason, same decision", "reason_changed", impact.reason_changed),
    )


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
    for _, heading, changes in first_appearances(difference):
        document += ["", f"{heading}, the largest first", changes_table(changes[:MOST_SHOWN])]
        if len(changes) > MOST_SHOWN:
            document.append(f"and {len(changes) - MOST_SHOWN:,} more")
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
    for index, (mark, heading, _, _) in enumerate(classes_of(difference.impacts[0])):
        cells = [mark, heading]
        for impact in difference.impacts:
            changes = classes_of(impact)[index][3]
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


def first_appearances(difference: PolicyDifference) -> list[tuple[str, str, tuple[Change, ...]]]:
    """Return (mark, heading with its instant, changes) of each class at the first instant at which it has any."""
    found = []
    for index, (mark, heading, _, _) in enumerate(classes_of(difference.impacts[0])):
        for when, impact in zip(WHEN, difference.impacts, strict=True):
            changes = classes_of(impact)[index][3]
            if changes:
                found.append((mark, heading if when == WHEN[0] else f"{heading} {when}", changes))
                break
    return found


def changes_table(changes: Sequence[Change]) -> Table:
    """Return artifacts with what is decided about them before and after."""
    rows = [
        (
            printable(change.facts.name),
            change.facts.kind.value,
            format_bytes(change.facts.allocated_bytes),
            printable(change.before.sentence),
            printable(change.after.sentence),
        )
        for change in changes
    ]
    return Table(columns=columns("artifact", "kind", ">bytes", "was", "becomes"), rows=tuple(rows))


def risk_line(difference: PolicyDifference) -> str:
    """Return the risk and what makes it so."""
    reasons = []
    if difference.loses_protection:
        reasons.append("protection is lost")
    if difference.refused:
        reasons.append("a run would be refused")
    if not reasons and any(impact.newly_reclaimed for impact in difference.impacts):
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
        "loses_protection": difference.loses_protection,
        "refused": difference.refused,
        "risk": difference.risk.value,
    }


def _impact(impact: Impact) -> dict[str, Any]:
    classes: Mapping[str, tuple[Change, ...]] = {field: changes for _, _, field, changes in classes_of(impact)}
    return {
        "at": rfc3339(impact.at),
        **{field: [_change(change) for change in changes] for field, changes in classes.items()},
        "removed_rules": [_removal(removal) for removal in impact.removed],
        **{f"{field}_bytes": bytes_of([change.facts for change in changes]) for field, changes in classes.items()},
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
