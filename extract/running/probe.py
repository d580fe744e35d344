"""The first records of a worker, computed before anything is promised or written: what a token costs here."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from artifactctl.api.admission import ExtractionRecipe, FinishedRun
from artifactctl.api.formats import Codec, PlanesEncoder
from extract.running.checking import checked, require_computable
from extract.running.corpus import Corpus
from extract.running.engine import Computed, CorpusRecord, Engine, Outcome
from extract.running.ranges import RecordRange
from extract.shards.records import RejectedRecord, StateRecord
from extract.shards.sinks import rows_per_block
from extract.shards.writer import ShardPlan

RECORDS = 32
MOST_BYTES = 256 * 2**20
"""A probe holds its states in memory, and is shorter where records are long."""

_LABEL_BYTES = 5
"""Ids and mask of a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was computed, to be written and not computed again, and what it teaches; None where all was rejected."""

    outcomes: dict[int, Outcome]
    measured: FinishedRun | None
    codec_ratio: float

    @property
    def tokens_per_second(self) -> float | None:
        """The rate of the engine."""
        if self.measured is None or self.measured.seconds is None:
            return None
        return self.measured.tokens / self.measured.seconds


def probe(
    engine: Engine,
    corpus: Corpus,
    part: RecordRange,
    plan: ShardPlan,
    recipe: ExtractionRecipe,
    *,
    should_stop: Callable[[], bool],
) -> Probe:
    """Compute the first records of a range, and measure tokens a second and bytes a token; fewer when asked to stop."""
    begun = time.monotonic()
    outcomes = {each.index: each for each in engine.compute(_first_records(corpus, part, plan, engine, should_stop))}
    seconds = max(time.monotonic() - begun, 1e-6)
    written = list(_whole(outcomes, corpus, plan))
    tokens = sum(record.tokens for record in written)
    if not tokens:
        return Probe(outcomes=outcomes, measured=None, codec_ratio=1.0)
    stored_bytes = _coded_bytes(written, plan)
    measured = FinishedRun(
        recipe=recipe.key, tokens=tokens, stored_bytes=stored_bytes + tokens * _LABEL_BYTES, seconds=seconds
    )
    return Probe(outcomes=outcomes, measured=measured, codec_ratio=stored_bytes / (tokens * plan.form.row_bytes))


def _first_records(
    corpus: Corpus, part: RecordRange, plan: ShardPlan, engine: Engine, should_stop: Callable[[], bool]
) -> Iterator[CorpusRecord]:
    room_bytes = MOST_BYTES
    for index in range(part.first, min(part.past, part.first + RECORDS)):
        record = corpus.record(index)
        room_bytes -= record.tokens * plan.form.row_bytes
        if should_stop() or (room_bytes < 0 and index > part.first):
            return
        try:
            require_computable(record, engine.facts)
        except RejectedRecord:
            continue  # it is told when its shard is written
        yield record


def _whole(outcomes: dict[int, Outcome], corpus: Corpus, plan: ShardPlan) -> Iterator[StateRecord]:
    for index, outcome in outcomes.items():
        if isinstance(outcome, Computed):
            try:
                yield checked(corpus.record(index), outcome, corpus.loss_mask(index), plan.form)
            except RejectedRecord:
                continue  # likewise


def _coded_bytes(records: list[StateRecord], plan: ShardPlan) -> int:
    """Return what the codec makes of the states, in blocks as the writer cuts them."""
    if plan.codec is not Codec.PLANES:
        return sum(record.states.nbytes for record in records)
    import numpy as np

    encoder = PlanesEncoder(plan.form.width)
    states_NW = np.concatenate([record.states for record in records])
    step = rows_per_block(plan.form)
    return sum(
        memoryview(piece).nbytes
        for at in range(0, len(states_NW), step)
        for piece in encoder.encode_parts(states_NW[at : at + step].reshape(-1).data)
    )
