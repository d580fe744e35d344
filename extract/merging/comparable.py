"""Records in a form in which a corpus and its sources can be compared: token ids, or the text of the messages.

The form is a sequence of bytes of which a cut record is the beginning. `prompt` is the part before the first answer: by
it a record that was cut or altered is still known. `mask` is the loss mask, None where only texts are compared.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from artifactctl.api.corpora import open_packed
from artifactctl.domain.errors import CheckFailed, UsageError
from extract.merging.conversations import Conversation, Tokenised, UnreadableRecord, parse
from extract.merging.entries import ID_BYTES, id_bytes
from extract.merging.preparing import Preparing
from extract.merging.sources import Reading, Source, SourceRecord, files_of
from extract.merging.tally import Drop
from extract.merging.writing import PACKED

_UNIT, _RECORD = b"\x1f", b"\x1e"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparable:
    """One record of either side."""

    form: bytes
    prompt: bytes
    mask: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A record of a source: comparable, or left out for the reason that is given."""

    line: int
    record: Comparable | None = None
    left_out: Drop | None = None


class Comparing:
    """How records of this corpus are compared: by their token ids (`preparing` tokenises), or by their texts."""

    def __init__(self, preparing: Preparing | None, *, by_text: bool) -> None:
        self._preparing = preparing
        self._by_text = by_text

    def source(self, source: Source) -> Iterator[Seen]:
        """Yield every record of a source."""
        records = Reading(source).records()
        if self._by_text or self._preparing is None:
            return map(self._plain, records)
        return _prepared(self._preparing, records)

    def corpus(self, place: Path) -> Iterator[Comparable]:
        """Yield every record of the corpus; CheckFailed when one cannot be read."""
        if (place / PACKED).is_file():
            yield from _packed(place / PACKED)
            return
        for file in files_of(place):
            source = Source(path=file)
            for record in Reading(source).records():
                seen = self._plain(record)
                if seen.left_out is Drop.UNREADABLE:
                    raise CheckFailed(
                        f"{source.label}:{record.line}: this record of the corpus cannot be compared",
                        remedy="its records are `messages`, `conversations` or `input_ids` with `loss_mask`, all alike",
                    )
                if seen.record is not None:
                    yield seen.record

    def _plain(self, record: SourceRecord) -> Seen:
        unreadable = Seen(line=record.line, left_out=Drop.UNREADABLE)
        if record.value is None:
            return unreadable
        try:
            said = parse(record.value)
        except UnreadableRecord:
            return unreadable
        if isinstance(said, Tokenised) is self._by_text:
            return unreadable
        if isinstance(said, Tokenised):
            return Seen(line=record.line, record=_of_tokens(id_bytes(said.ids), said.mask))
        if said.is_empty:
            return Seen(line=record.line, left_out=Drop.EMPTY)
        return Seen(line=record.line, record=_of_text(said))


def holds_texts(place: Path) -> bool:
    """Whether the records of a corpus are messages and not token ids, by its first one."""
    if (place / PACKED).is_file():
        return False
    for file in files_of(place):
        for record in Reading(Source(path=file)).records():
            return record.value is not None and "input_ids" not in record.value
    raise UsageError(f"{os.fspath(place)} holds no record", remedy="check the path")


def _prepared(preparing: Preparing, records: Iterable[SourceRecord]) -> Iterator[Seen]:
    for each in preparing.prepare(0, records):
        entry = each.entry
        record = None if entry is None else _of_tokens(entry.ids, entry.mask)
        yield Seen(line=each.line, record=record, left_out=each.drop)


def _packed(path: Path) -> Iterator[Comparable]:
    with open_packed(path) as packed:
        for record in packed.records():
            yield _of_tokens(record.ids, record.mask)
        if packed.problems:
            raise CheckFailed(f"{path}: {packed.problems[0]}", remedy="artifactctl verify")


def _of_tokens(ids: bytes, mask: bytes) -> Comparable:
    first = mask.find(1)
    return Comparable(form=ids, prompt=ids[: first * ID_BYTES] if first >= 0 else ids, mask=mask)


def _of_text(said: Conversation) -> Comparable:
    parts: list[bytes] = []
    prompt: bytes | None = None
    for message in said.messages:
        parts.append(message["role"].encode() + _UNIT)
        if message["role"] == "assistant" and prompt is None:
            prompt = b"".join(parts)
        parts.append(message["content"].encode() + _RECORD)
    form = b"".join(parts).removesuffix(_RECORD)
    return Comparable(form=form, prompt=form if prompt is None else prompt)
