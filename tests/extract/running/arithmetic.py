"""An engine whose states follow from token ids by arithmetic: real tensors, without the time that a model takes.

Shape suffixes: L tokens of one record, H hidden size.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from artifactctl.api.formats import FinalState
from extract.running.engine import Computed, CorpusRecord, EngineFacts, Outcome
from extract.shards.records import token_hash

HIDDEN = 16
LAYERS = (2, 4, 5)
FACTS = EngineFacts(
    name="arithmetic",
    versions={"numpy": np.__version__},
    model="sums",
    model_revision="1",
    hidden_size=HIDDEN,
    blocks=8,
    vocabulary=300,
    layers=LAYERS,
    final_state=FinalState.POST,
    computed_in="integers",
)


def states(token_ids: Any, boundary: int) -> Any:
    """Return finite bf16 patterns [L, H]: each depends on all tokens up to its own, and on the boundary."""
    seen = np.cumsum(token_ids.astype(np.uint64) * np.uint64(2654435761), dtype=np.uint64)
    columns = np.arange(1, HIDDEN + 1, dtype=np.uint64) * np.uint64(40503 + boundary)
    return ((seen[:, None] * columns[None, :]) >> np.uint64(7)).astype(np.uint16) & np.uint16(0x3FFF)


class ArithmeticEngine:
    """`alter` is asked about every outcome, and may return another one; `delay_seconds` passes before each."""

    def __init__(
        self,
        facts: EngineFacts = FACTS,
        *,
        delay_seconds: float = 0.0,
        alter: Callable[[Computed], Outcome | None] = lambda outcome: outcome,
    ) -> None:
        self.facts = facts
        self.computed: list[int] = []
        self._delay_seconds = delay_seconds
        self._alter = alter

    def compute(self, records: Iterator[CorpusRecord]) -> Iterator[Outcome]:
        """Yield an outcome for each record, in order, unless `alter` returns None for it."""
        for record in records:
            time.sleep(self._delay_seconds)
            self.computed.append(record.index)
            altered = self._alter(
                Computed(
                    index=record.index,
                    token_hash=token_hash(record.token_ids),
                    layers=tuple(states(record.token_ids, layer) for layer in self.facts.layers),
                    final=states(record.token_ids, 99),
                )
            )
            if altered is not None:
                yield altered

    def close(self) -> None:
        """Nothing is held."""


def facts_with(**changes: Any) -> EngineFacts:
    """Return the facts with some of them changed."""
    return replace(FACTS, **changes)


def shards_of(folder: Path) -> dict[str, bytes]:
    """Return the shards by name, with all their bytes."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("shard-*.safetensors"))}
