"""From records as they were read to tokenised entries: template, tokenizer, loss mask, truncation, filters."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.errors import UsageError
from extract.merging.conversations import Conversation, Tokenised, UnreadableRecord, parse
from extract.merging.entries import Entry, content_key, id_bytes
from extract.merging.last_answers import Span, SpansUnclear
from extract.merging.masking import mask_of
from extract.merging.sources import SourceRecord
from extract.merging.tally import Drop
from extract.merging.templates import ChatTemplate
from extract.merging.tokenization import CorpusTokenizer

BATCH_RECORDS = 512
BATCH_CHARACTERS = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Which records are kept, and how long: `max_tokens` None is without limit."""

    max_tokens: int | None = None
    min_tokens: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What became of one record: an entry, or the reason why there is none."""

    line: int
    entry: Entry | None = None
    drop: Drop | None = None
    problem: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rendered:
    line: int
    text: str
    spans: list[Span]
    readable: dict[str, Any]


class Preparing:
    """Turns records into entries in the order in which they come; the template is compiled when first needed."""

    def __init__(self, tokenizer: CorpusTokenizer, limits: Limits) -> None:
        self._tokenizer = tokenizer
        self._limits = limits
        self._template: ChatTemplate | None = None

    def prepare(self, source: int, records: Iterable[SourceRecord]) -> Iterator[Prepared]:
        """Yield what becomes of each record; texts are tokenised in batches of bounded size."""
        waiting: list[_Rendered | Prepared] = []
        characters = 0
        for record in records:
            item = self._begin(source, record)
            waiting.append(item)
            characters += len(item.text) if isinstance(item, _Rendered) else 0
            if len(waiting) >= BATCH_RECORDS or characters >= BATCH_CHARACTERS:
                yield from self._finish(source, waiting)
                waiting, characters = [], 0
        yield from self._finish(source, waiting)

    def _begin(self, source: int, record: SourceRecord) -> "_Rendered | Prepared":
        if record.value is None:
            return Prepared(line=record.line, drop=Drop.UNREADABLE, problem=record.problem)
        try:
            said = parse(record.value)
            if isinstance(said, Tokenised):
                return self._tokenised(source, record.line, said)
            return self._rendered(record.line, said)
        except UnreadableRecord as problem:
            return Prepared(line=record.line, drop=Drop.UNREADABLE, problem=str(problem))

    def _rendered(self, line: int, said: Conversation) -> "_Rendered | Prepared":
        if said.is_empty:
            return Prepared(line=line, drop=Drop.EMPTY)
        try:
            text, spans = self._chat_template().render(said)
        except SpansUnclear as problem:
            return Prepared(line=line, drop=Drop.SPANS_UNCLEAR, problem=str(problem))
        return _Rendered(line=line, text=text, spans=spans, readable={"messages": said.messages})

    def _tokenised(self, source: int, line: int, said: Tokenised) -> Prepared:
        if not said.ids:
            return Prepared(line=line, drop=Drop.EMPTY)
        beyond = max(said.ids)
        if beyond >= self._tokenizer.target_vocabulary:
            raise UnreadableRecord(f"token id {beyond} is beyond the tokenizer's {self._tokenizer.target_vocabulary}")
        return self._filtered(source, line, said.ids, said.mask, {"text": self._tokenizer.decode(said.ids)})

    def _finish(self, source: int, waiting: "list[_Rendered | Prepared]") -> Iterator[Prepared]:
        texts = [item.text for item in waiting if isinstance(item, _Rendered)]
        encoded = iter(self._tokenizer.encode(texts) if texts else ())
        for item in waiting:
            if isinstance(item, Prepared):
                yield item
            else:
                ids, offsets = next(encoded)
                yield self._filtered(source, item.line, ids, mask_of(offsets, item.spans), item.readable)

    def _filtered(self, source: int, line: int, ids: list[int], mask: bytes, readable: dict[str, Any]) -> Prepared:
        longest = self._limits.max_tokens
        truncated = longest is not None and len(ids) > longest
        ids, mask = ids[:longest], mask[:longest]
        if len(ids) < self._limits.min_tokens:
            return Prepared(line=line, drop=Drop.TOO_SHORT)
        if 1 not in mask:
            return Prepared(line=line, drop=Drop.NOTHING_LEARNED)
        packed = id_bytes(ids)
        entry = Entry(
            source=source,
            line=line,
            content_key=content_key(packed),
            ids=packed,
            mask=mask,
            readable=json.dumps(readable, ensure_ascii=False, separators=(",", ":")).encode(),
        )
        return Prepared(line=line, entry=entry, truncated=truncated)

    def _chat_template(self) -> ChatTemplate:
        if self._template is None:
            told = self._tokenizer
            if not told.template:
                raise UsageError(
                    f"the tokenizer at {told.path} has no chat template, and there are conversations",
                    remedy="give one with --chat-template FILE",
                )
            self._template = ChatTemplate(told.template, special=told.special, marks=told.marks)
        return self._template
