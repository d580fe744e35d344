"""The impact of a policy change as a comment on a pull request: the verdict first, the lists folded."""

from collections.abc import Iterator

from artifactctl.policy.differing import PolicyDifference, Risk, bytes_of
from artifactctl.report.instants import format_instant
from artifactctl.report.markdown import code, escaped, folded, markdown_table
from artifactctl.report.policy_additions import HEADING, additions_table
from artifactctl.report.policy_diff import (
    DiffAnswer,
    edits_table,
    listings,
    numbers_table,
    refusal_lines,
    removal_lines,
    risk_line,
)
from artifactctl.report.sizes import counted, format_bytes

MOST_LISTED = 40
"""Of each class: a comment on a pull request may have 65,536 characters."""

_ALERTS = {Risk.MILD: "NOTE", Risk.MODERATE: "WARNING", Risk.SEVERE: "CAUTION"}


def diff_markdown(answer: DiffAnswer) -> str:
    """Return the whole comment."""
    difference = answer.difference
    parts = [
        f"## Policy diff: {code(answer.old)} → {code(answer.new)}",
        _alert(difference),
        f"{answer.catalog.capitalize()} of {format_instant(difference.taken_at)}, "
        f"{counted(difference.population, 'artifact')}.",
        markdown_table(edits_table(difference.edits), code_in="name")
        if difference.edits
        else "The policies say the same.",
        *_configured(difference),
        markdown_table(numbers_table(difference)),
    ]
    for listing in listings(difference):
        changes = listing.changes
        total = format_bytes(bytes_of([change.facts for change in changes]))
        listed = markdown_table(listing.table(MOST_LISTED), code_in="artifact")
        if len(changes) > MOST_LISTED:
            listed += f"\n\nand {len(changes) - MOST_LISTED:,} more; `--format json` lists all"
        parts.append(folded(f"<b>{counted(len(changes), 'artifact')}</b>, {total}: {listing.heading}", listed))
    return "\n\n".join(parts)


def _alert(difference: PolicyDifference) -> str:
    lines = [f"**{risk_line(difference)}**"]
    lines += [escaped(line) for line in (*removal_lines(difference), *refusal_lines(difference))]
    return "\n".join((f"> [!{_ALERTS[difference.risk]}]", *("> " + line + "  " for line in lines))).rstrip()


def _configured(difference: PolicyDifference) -> Iterator[str]:
    if difference.configured:
        yield f"{HEADING.capitalize()}:"
        yield markdown_table(additions_table(difference.configured), code_in="name")
