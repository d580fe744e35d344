"""One share of a run: its records computed, checked, and written into one shard that appears whole or not at all."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from artifactctl.api.shares import HeldShare
from artifactctl.domain.errors import Refused
from extract.publishing import take_away, take_away_asides
from extract.running.checking import checked, require_computable
from extract.running.corpus import Corpus
from extract.running.engine import Computed, CorpusRecord, Engine, Outcome, Unable
from extract.running.looking import FoundShard, found_shard
from extract.running.outcomes import Stopped
from extract.running.ranges import RecordRange
from extract.shards.manifest import NAME
from extract.shards.reader import BrokenShard, Shard, open_shard
from extract.shards.records import RejectedRecord, StateRecord
from extract.shards.writer import ShardPlan, ShardWriter, WrittenShard


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharer:
    """What all shares of a worker have in common; `on_record` hears the tokens of each record that was computed."""

    folder: Path
    corpus: Corpus
    engine: Engine
    plan: ShardPlan
    on_record: Callable[[int], None]
    should_stop: Callable[[], bool]

    def work(self, held: HeldShare, part: RecordRange, known: Mapping[int, Outcome]) -> int:
        """Write the shard of a range and finish the share; return its bytes, 0 where no record could be written.

        `known` are outcomes computed before. A shard that is there counts when it is whole; it stays when nothing can
        be added to it, else one with its records and the new ones takes its place, and so for one that is damaged.
        Stopped, with nothing new of the shard left, when somebody asked for it.
        """
        path = self.folder / part.shard_name
        take_away_asides(self.folder, part.shard_name, keep=f"{part.shard_name}{_mark(held)}.partial")
        take_away(self.folder / NAME)  # what has its manifest is complete
        before = self._before(part)
        still_missing = None if before is None else _nothing_to_add(before, part, held.share.rejected, known)
        if before is not None and still_missing is not None:
            if still_missing != held.share.rejected:
                held.prove(still_missing)
            written: WrittenShard | None = before.written
        else:
            written = self._anew(held, part, known, before)
        if written is None and path.exists():
            raise Refused(
                f"{path} is damaged, and none of its {part.records:,} records could be computed again",
                remedy="look at the engine; the reasons are in the log of what was rejected",
            )
        records, tokens, size_bytes = (0, 0, 0) if written is None else _counts(written)
        held.finish(records=records, tokens=tokens, size_bytes=size_bytes)
        return size_bytes

    def found(self, part: RecordRange, *, reads_all: bool) -> FoundShard | None:
        """Return the shard of a range that is there; BrokenShard, Refused as of `found_shard`."""
        return found_shard(self.folder, part, self.corpus, self.plan, reads_all=reads_all)

    def _before(self, part: RecordRange) -> FoundShard | None:
        """Return a whole shard that is there although its share is not finished; every byte of it is read."""
        try:
            return self.found(part, reads_all=True)
        except BrokenShard:
            return None

    def _anew(
        self, held: HeldShare, part: RecordRange, known: Mapping[int, Outcome], before: FoundShard | None
    ) -> WrittenShard | None:
        path = self.folder / part.shard_name
        writer = ShardWriter(path, self.plan, room_bytes=part.room_bytes, mark=_mark(held), replaces=path.exists())
        try:
            written = self._write(writer, held, part, known, before)
        except BaseException:
            writer.abandon()
            take_away_asides(self.folder, part.shard_name)
            raise
        if written is None:
            take_away_asides(self.folder, part.shard_name)
        return written

    def _write(
        self,
        writer: ShardWriter,
        held: HeldShare,
        part: RecordRange,
        known: Mapping[int, Outcome],
        before: FoundShard | None,
    ) -> WrittenShard | None:
        rejected: dict[int, str] = {}
        present = frozenset() if before is None else before.present
        with closing(_Kept(None if before is None else open_shard(before.written.path), writer)) as kept:
            for outcome in self._outcomes(part, known, present, rejected):
                if self.should_stop():
                    raise Stopped(f"stopped in the middle of {part.shard_name}, nothing new of which stays")
                held.check()
                kept.append_up_to(outcome.index)
                record = self.corpus.record(outcome.index)
                try:
                    if isinstance(outcome, Unable):
                        raise RejectedRecord(outcome.reason)
                    mask = self.corpus.loss_mask(outcome.index)
                    writer.append(checked(record, outcome, mask, self.plan.form), record.content_key)
                except RejectedRecord as unfit:
                    rejected[outcome.index] = str(unfit)
                self.on_record(record.tokens)
            kept.append_up_to(part.past)
        missing = part.records - writer.records - len(rejected)
        if missing:
            raise Refused(
                f"the engine returned nothing for {missing:,} of the {part.records:,} records of {part.shard_name}",
                remedy="look at the engine's own log, then run the same command again",
            )
        held.prove(rejected)
        if not writer.records:
            return None
        try:
            return writer.finish()
        except FileNotFoundError as gone:
            raise Refused(
                f"another worker took {part.shard_name} over", remedy="run the same command again: it takes another"
            ) from gone

    def _outcomes(
        self, part: RecordRange, known: Mapping[int, Outcome], present: frozenset[int], rejected: dict[int, str]
    ) -> Iterator[Outcome]:
        def to_compute() -> Iterator[CorpusRecord]:
            for index in range(part.first, part.past):
                if index in known or index in present:
                    continue
                record = self.corpus.record(index)
                try:
                    require_computable(record, self.engine.facts)
                except RejectedRecord as unfit:
                    rejected[record.index] = str(unfit)
                else:
                    yield record

        yield from (known[index] for index in range(part.first, part.past) if index in known and index not in present)
        yield from self.engine.compute(to_compute())


class _Kept:
    """The records of a shard that another one takes over, each in its place; `shard` None holds none."""

    def __init__(self, shard: Shard | None, writer: ShardWriter) -> None:
        self._shard = shard
        self._writer = writer
        indexes = () if shard is None else shard.indexes()
        self._positions = sorted(range(len(indexes)), key=indexes.__getitem__, reverse=True)
        self._indexes = indexes

    def append_up_to(self, index: int) -> None:
        """Write those with lower numbers that were not written yet."""
        while self._positions and self._indexes[self._positions[-1]] < index:
            record: StateRecord = self._shard[self._positions.pop()]  # type: ignore[index]  # it has positions
            self._writer.append(record)

    def close(self) -> None:
        """Close the shard."""
        if self._shard is not None:
            self._shard.close()


def _nothing_to_add(
    before: FoundShard, part: RecordRange, reasons: Mapping[int, str], known: Mapping[int, Outcome]
) -> dict[int, str] | None:
    """Return why each record that is not there is missing; None when some may be added."""
    absent = [index for index in range(part.first, part.past) if index not in before.present]
    if any(index not in reasons or isinstance(known.get(index), Computed) for index in absent):
        return None
    return {index: reasons[index] for index in absent}


def _counts(written: WrittenShard) -> tuple[int, int, int]:
    return written.records, written.tokens, written.size_bytes


def _mark(held: HeldShare) -> str:
    return f".{held.share.fence}"
