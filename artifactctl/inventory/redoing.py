"""What of a dump has to be made again: its records that are missing, torn, short, or hold numbers that are none.

SpecForge and speculators write a file a record, named by the record's number: what should be there follows from the
numbers. In other dumps a file is the smallest thing that can be named.
"""

import re
from collections.abc import Iterable

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, ArtifactKind
from artifactctl.domain.verification import ToRedo
from artifactctl.inventory.known import layout_of
from artifactctl.recognition.hidden_states import ROWS_FOLDER, SAMPLE, SPECULATORS_SAMPLE
from artifactctl.recognition.sightings import Layout

_A_FILE_A_RECORD = (Layout.SPECFORGE_DUMP, Layout.SPECULATORS_DUMP)
_MISSING = "it is missing"
_MOST_SPANS = 8


class Redoing:
    """Collects, member by member, what is whole and what is not."""

    def __init__(self) -> None:
        self._whole: set[int] = set()
        self._broken: list[tuple[bytes, str]] = []

    def add(self, relative: bytes, problems: Iterable[str]) -> None:
        """Take a member with what is wrong with it."""
        why = "; ".join(problems)
        number = record_number(relative)
        if why:
            self._broken.append((relative, why))
        elif number is not None:
            self._whole.add(number)

    @property
    def whole(self) -> int:
        """How many records are whole; 0 where files are no records."""
        return len(self._whole)

    def listed(self, expected: range | None) -> tuple[ToRedo, ...]:
        """Return what is to be redone, by number. `expected`: the numbers there should be, None where nobody knows."""
        broken = {
            number: (member, why) for member, why in self._broken if (number := record_number(member)) is not None
        }
        found = self._whole | broken.keys()
        numbers = sorted({*(expected or ()), *range(min(found, default=0), max(found, default=-1) + 1)} - self._whole)
        records = (ToRedo(number, *broken.get(number, (b"", _MISSING))) for number in numbers)
        files = (ToRedo(None, member, why) for member, why in self._broken if record_number(member) is None)
        return (*records, *files)


def record_number(relative: bytes) -> int | None:
    """Return the number of the record that a file of a dump holds, None when its name tells none."""
    name = relative.rpartition(b"/")[2]
    match = SAMPLE.fullmatch(name) or SPECULATORS_SAMPLE.fullmatch(name)
    return int(match[1]) if match else None


def expected_records(reading: Reading, artifact: Artifact, *, folder: bytes) -> range | None:
    """Return the numbers of the records that the artifact should hold; None where neither it nor its corpus says.

    A `rows_A-B` folder by itself holds A and following. Where a file holds several records they have no numbers.
    """
    if layout_of(artifact) not in _A_FILE_A_RECORD:
        return None
    rows = ROWS_FOLDER.fullmatch(folder)
    count = artifact.records
    if count is None and rows is None:
        count = _records_of_corpus(reading, artifact)
    if count is None:
        return None
    first = int(re.findall(rb"\d+", folder)[0]) if rows else 0
    return range(first, first + count)


def _records_of_corpus(reading: Reading, artifact: Artifact) -> int | None:
    parents = (reading.artifact_by_id(edge.parent_id) for edge in reading.parents(artifact.artifact_id))
    counts = {p.records for p in parents if p is not None and p.kind is ArtifactKind.MERGED_CORPUS}
    return counts.pop() if len(counts) == 1 else None


def missing_words(redo: Iterable[ToRedo]) -> str:
    """Return the numbers of missing records as spans (`18, 20-22`), empty when none is."""
    spans: list[list[int]] = []
    for each in redo:
        if each.record is None or each.why != _MISSING:
            continue
        if spans and each.record == spans[-1][1] + 1:
            spans[-1][1] = each.record
        else:
            spans.append([each.record, each.record])
    shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in spans[:_MOST_SPANS]]
    return ", ".join(shown) + (f" and {len(spans) - _MOST_SPANS} spans more" if len(spans) > _MOST_SPANS else "")
