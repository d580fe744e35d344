"""What is configured beside policy files: as a sentence, as a table, as JSON."""

from collections.abc import Sequence
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.policy.edits import Edit
from artifactctl.report.tables import Table, columns

HEADING = "configured here beside the files, and counted"


def spell_additions(additions: Sequence[Edit]) -> str:
    """Return `protect released (site.yaml:4:5), max_bytes 2TiB`."""
    return printable(", ".join(map(_spelt, additions)))


def additions_table(additions: Sequence[Edit]) -> Table:
    """Return a row for each protect, limit and waiting time."""
    rows = tuple((edit.section, printable(edit.name), printable(edit.what)) for edit in additions)
    return Table(columns=columns("section", "name", "what"), rows=rows)


def additions_payload(additions: Sequence[Edit]) -> list[dict[str, Any]]:
    """Return the same for scripts."""
    return [{"section": edit.section, "name": edit.name, "what": edit.what} for edit in additions]


def _spelt(edit: Edit) -> str:
    return f"protect {edit.name} ({edit.what})" if edit.section == "protect" else f"{edit.name} {edit.what}"
