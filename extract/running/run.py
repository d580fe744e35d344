"""A worker of a run from its beginning to its end: shares claimed one by one until all of them are finished."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from artifactctl.api import Session
from artifactctl.api.shares import DividedWork, HeldShare
from artifactctl.api.wording import counted, format_bytes, format_duration, format_tokens
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.shares import Share
from extract.running.completing import complete
from extract.running.corpus import Corpus
from extract.running.engine import Engine
from extract.running.identity import fingerprint_of, recipe_of
from extract.running.mending import Mending
from extract.running.outcomes import Extracted, Extraction, Stopped
from extract.running.place import Place, source_of
from extract.running.probe import Probe, probe
from extract.running.ranges import RecordRange, divided
from extract.running.room import Demand, Keeper
from extract.running.sharing import Sharer
from extract.running.telling import Progress
from extract.shards.writer import ShardPlan
from extract.telling import Telling

LONGEST_RUN = timedelta(days=30)
POLL_SECONDS = 2.0


def extract_states(
    session: Session, wanted: Extraction, engine: Engine, telling: Telling, *, should_stop: Callable[[], bool]
) -> Extracted:
    """Extract the hidden states of a corpus, or help those who are at it, or go on where a run before stopped.

    Refused before anything is written when the run at the place is another one, or the volume has no room for it.
    Stopped when somebody asked for it, or the volume is too full; the same again goes on from there. Shards that were
    lost since are made again, and records that were rejected are tried once more.
    """
    source, folder = source_of(session, wanted.corpus)
    with Corpus(folder) as corpus, session.lease([source.name], until=session.now + LONGEST_RUN):
        plan = ShardPlan(
            form=engine.facts.form, fingerprint=fingerprint_of(corpus, engine.facts, wanted.codec), codec=wanted.codec
        )
        place = Place(session, wanted, source, plan, engine.facts, records=len(corpus))
        complete = place.complete()
        if complete is not None:
            division = place.division_of(complete)
            if division is None:
                return place.as_listed(complete)
            wanted = replace(wanted, shard_bytes=int(division.fingerprint["shard_bytes"]))
            place = Place(session, wanted, source, plan, engine.facts, records=len(corpus))
        return _Worker(session, wanted, corpus, engine, place, telling, should_stop).run()


class _Worker:
    """One process at a run."""

    def __init__(
        self,
        session: Session,
        wanted: Extraction,
        corpus: Corpus,
        engine: Engine,
        place: Place,
        telling: Telling,
        should_stop: Callable[[], bool],
    ) -> None:
        self._session = session
        self._corpus = corpus
        self._engine = engine
        self._place = place
        self._telling = telling
        self._should_stop = should_stop
        self._parts = divided(corpus.lengths(), place.plan, wanted.shard_bytes)
        self._shard_bytes = wanted.shard_bytes
        self._recipe = recipe_of(engine.facts, wanted.codec)
        self._keeper = Keeper(session, wanted, telling, should_stop)
        self._progress = Progress(telling, wanted.out, tokens=corpus.tokens, row_bytes=place.plan.form.row_bytes)
        self._sharer = Sharer(
            folder=wanted.out,
            corpus=corpus,
            engine=engine,
            plan=place.plan,
            on_record=self._progress.add,
            should_stop=should_stop,
        )
        self._mending = Mending(place, self._sharer, self._parts, telling)
        self._planned_bytes: int | None = None
        self._computed = False

    def run(self) -> Extracted:
        """Work until every share is finished."""
        building, work = self._place.join(len(self._parts) + 1)
        if building is not None and work is not None:
            self._mending.begin(work, building)
        left = self._left(() if work is None else work.shares())
        first = Probe(outcomes={}, measured=None, codec_ratio=1.0)
        if left:
            first = self._admitted(left)
        if work is None:
            building, work = self._place.announce(len(self._parts) + 1)
        assert building is not None, "whoever joined work knows what is made"
        try:
            sealed = self._until_all_is_finished(work, building, first)
        except BaseException:
            if not work.others_are_at_it():
                self._keeper.release()
            raise
        return self._extracted(sealed, work.shares())

    def _admitted(self, left: Sequence[RecordRange]) -> Probe:
        """Measure, ask the planner, have the room promised."""
        self._telling.note("probing", records_from=left[0].first)
        first = probe(
            self._engine, self._corpus, left[0], self._place.plan, self._recipe, should_stop=self._should_stop
        )
        if self._should_stop():
            raise Stopped("stopped before the first shard", remedy="the same command begins again, or goes on")
        plan = self._keeper.admit(self._demand(left), first)
        self._planned_bytes = plan.demand_bytes
        self._progress.planned, self._progress.codec_ratio = plan.duration, first.codec_ratio
        rate = first.tokens_per_second
        takes = "" if plan.duration is None else f", {format_duration(plan.duration)} at {rate or 0:,.0f} tokens/s"
        self._telling.say(
            "admitted",
            f"{counted(sum(part.records for part in left), 'record')} of "
            f"{format_tokens(sum(part.tokens for part in left))} tokens to extract: {format_bytes(plan.demand_bytes)} "
            f"in {counted(len(left), 'shard')}{takes}; {format_bytes(plan.headroom_bytes)} may be used "
            f"({plan.limited_by})",
            tokens=sum(part.tokens for part in left),
            demand_bytes=plan.demand_bytes,
            headroom_bytes=plan.headroom_bytes,
            codec_ratio=round(first.codec_ratio, 4),
            tokens_per_second=rate,
        )
        return first

    def _until_all_is_finished(self, work: DividedWork, building: Artifact, first: Probe) -> Artifact:
        while True:
            if self._should_stop():
                raise Stopped(self._how_far(work.shares()), remedy="the same command goes on from there")
            held = work.claim()
            if held is None:
                if not all(share.is_finished for share in work.shares()):
                    time.sleep(POLL_SECONDS)
                elif not self._mends(work, building, first):
                    return self._place.sealed()
                continue
            with held:
                if held.share.number == len(self._parts):
                    if self._mends(work, building, first):
                        continue  # this share is given back: another one comes before it
                    sealed = complete(self._session, self._sharer, building, self._parts, work.shares()[:-1])
                    self._keeper.release()
                    held.finish(records=0, tokens=0, size_bytes=0)
                    return sealed
                self._one(work, held, first)

    def _mends(self, work: DividedWork, building: Artifact, first: Probe) -> bool:
        """Whether a share that was finished is to be made again; what was computed of it is kept for that."""
        known = self._mending.next(work, building)
        first.outcomes.update(known or {})
        return known is not None

    def _one(self, work: DividedWork, held: HeldShare, first: Probe) -> None:
        part = self._parts[held.share.number]
        shares = work.shares()
        left = self._left(shares)
        self._progress.finished(self._corpus.tokens - sum(each.tokens for each in left))
        paused = self._keeper.paused_seconds
        self._keeper.before_shard(part.shard_name, self._demand(left), first, room_bytes=part.room_bytes)
        self._progress.leave_out(self._keeper.paused_seconds - paused)
        known = {index: outcome for index, outcome in first.outcomes.items() if part.first <= index < part.past}
        size_bytes = self._sharer.work(held, part, known)
        for index in known:
            del first.outcomes[index]
        self._computed = True
        self._keeper.written(size_bytes)
        self._telling.note(
            "shard",
            shard=part.shard_name,
            bytes=size_bytes,
            records=held.share.records,
            tokens=held.share.tokens,
            rejected=part.records - held.share.records,
        )

    def _left(self, shares: Sequence[Share]) -> tuple[RecordRange, ...]:
        finished = {share.number for share in shares if share.is_finished}
        return tuple(part for part in self._parts if part.number not in finished)

    def _demand(self, left: Sequence[RecordRange]) -> Demand:
        return Demand(
            recipe=self._recipe,
            plan=self._place.plan,
            shard_bytes=self._shard_bytes,
            tokens=sum(part.tokens for part in left),
            room_bytes=max(part.room_bytes for part in left),
        )

    def _how_far(self, shares: Sequence[Share]) -> str:
        finished = len(self._parts) - len(self._left(shares))
        return f"stopped: {finished:,} of {counted(len(self._parts), 'shard')} are finished"

    def _extracted(self, sealed: Artifact, shares: Sequence[Share]) -> Extracted:
        return Extracted(
            artifact=sealed,
            records=sum(share.records for share in shares),
            tokens=sum(share.tokens for share in shares),
            bytes_on_disk=sum(share.size_bytes for share in shares),
            shards=sum(share.records > 0 for share in shares),
            rejected={index: reason for share in shares for index, reason in share.rejected.items()},
            planned_bytes=self._planned_bytes,
            tokens_per_second=self._progress.tokens_per_second if self._computed else None,
        )
