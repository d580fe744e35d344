"""One share of a run: its records computed, checked, and written into one shard that appears whole or not at all."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from artifactctl.api.shares import HeldShare
from artifactctl.domain.errors import Refused
from extract.publishing import take_away_asides
from extract.running.checking import checked, require_computable
from extract.running.corpus import Corpus
from extract.running.engine import CorpusRecord, Engine, Outcome, Unable
from extract.running.outcomes import Stopped
from extract.running.ranges import RecordRange
from extract.shards.reader import open_shard
from extract.shards.records import RejectedRecord
from extract.shards.writer import ShardPlan, ShardWriter, WrittenShard


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharer:
    """What all shares of a worker have in common; `on_record` hears the tokens of each record that is done."""

    folder: Path
    corpus: Corpus
    engine: Engine
    plan: ShardPlan
    on_record: Callable[[int], None]
    should_stop: Callable[[], bool]

    def work(self, held: HeldShare, part: RecordRange, known: Mapping[int, Outcome]) -> int:
        """Write the shard of a range and finish the share; return its bytes, 0 where no record could be written.

        `known` are outcomes computed before. Stopped, with nothing of the shard left, when somebody asked for it.
        """
        path = self.folder / part.shard_name
        mark = f".{held.share.fence}"
        take_away_asides(self.folder, part.shard_name, keep=f"{part.shard_name}{mark}.partial")
        written = self.written_before(part, held.share.rejected)
        if written is None:
            writer = ShardWriter(path, self.plan, room_bytes=part.room_bytes, mark=mark)
            try:
                written = self._write(writer, held, part, known)
            except BaseException:
                writer.abandon()
                take_away_asides(self.folder, part.shard_name)
                raise
        if written is None:
            take_away_asides(self.folder, part.shard_name)
            held.finish(records=0, tokens=0, size_bytes=0)
            return 0
        held.finish(records=written.records, tokens=written.tokens, size_bytes=written.size_bytes)
        return written.size_bytes

    def written_before(self, part: RecordRange, rejected: Mapping[int, str]) -> WrittenShard | None:
        """Return the shard of a range that is there, None when none is; Refused when it is not the range's.

        It counts by what is in it: the fingerprint of its run, and the content keys of all records but the rejected.
        """
        path = self.folder / part.shard_name
        if not path.exists():
            return None
        with open_shard(path) as shard:
            differences = self.plan.fingerprint.differences(shard.fingerprint)
            keys = [self.corpus.key(index) for index in range(part.first, part.past) if index not in rejected]
            if not differences and sorted(shard.token_hashes()) != sorted(keys):
                differences = ("its records are not those of its range",)
            if differences:
                raise Refused(
                    f"{path} is of another run: {'; '.join(differences)}",
                    remedy="move it away, then the same command again: its records are extracted anew",
                )
            size_bytes = path.stat().st_size
            return WrittenShard(path=path, size_bytes=size_bytes, records=len(shard), tokens=shard.tokens)

    def _write(
        self, writer: ShardWriter, held: HeldShare, part: RecordRange, known: Mapping[int, Outcome]
    ) -> WrittenShard | None:
        rejected: dict[int, str] = {}
        for outcome in self._outcomes(part, known, rejected):
            if self.should_stop():
                raise Stopped(f"stopped in the middle of {part.shard_name}, nothing of which stays")
            held.check()
            record = self.corpus.record(outcome.index)
            try:
                if isinstance(outcome, Unable):
                    raise RejectedRecord(outcome.reason)
                mask = self.corpus.loss_mask(outcome.index)
                writer.append(checked(record, outcome, mask, self.plan.form), record.content_key)
            except RejectedRecord as unfit:
                rejected[outcome.index] = str(unfit)
            self.on_record(record.tokens)
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

    def _outcomes(self, part: RecordRange, known: Mapping[int, Outcome], rejected: dict[int, str]) -> Iterator[Outcome]:
        def to_compute() -> Iterator[CorpusRecord]:
            for record in self.corpus.records(part.first, part.past):
                if record.index in known:
                    continue
                try:
                    require_computable(record, self.engine.facts)
                except RejectedRecord as unfit:
                    rejected[record.index] = str(unfit)
                else:
                    yield record

        yield from (known[index] for index in range(part.first, part.past) if index in known)
        yield from self.engine.compute(to_compute())
