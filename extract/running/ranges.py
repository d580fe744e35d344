"""How a corpus is divided: ranges of records that fill one shard each, the same for whoever divides it.

The range decides the shard's name and records, so that whatever is stopped, resumed or taken over, in whichever order,
the same shards come out.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from extract.shards.writer import ShardPlan

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRange:
    """The records from `first` up to `past`, and the room that their shard never exceeds."""

    number: int
    first: int
    past: int
    tokens: int
    room_bytes: int

    @property
    def records(self) -> int:
        """How many records it has."""
        return self.past - self.first

    @property
    def shard_name(self) -> str:
        """The name of its shard."""
        return f"shard-{self.number:05d}.safetensors"


def divided(lengths_R: "NDArray[Any]", plan: ShardPlan, shard_bytes: int) -> tuple[RecordRange, ...]:
    """Return the ranges, in order: as many records as fit into a shard of `shard_bytes` before any codec, at least one.

    `lengths_R` are the tokens of each record of the corpus.
    """
    ranges: list[RecordRange] = []
    first = tokens = 0
    for index, length in enumerate(lengths_R.tolist()):
        if index > first and plan.most_bytes(records=index - first + 1, tokens=tokens + length) > shard_bytes:
            ranges.append(_range(plan, len(ranges), first, index, tokens))
            first, tokens = index, 0
        tokens += length
    return (*ranges, _range(plan, len(ranges), first, len(lengths_R), tokens))


def _range(plan: ShardPlan, number: int, first: int, past: int, tokens: int) -> RecordRange:
    room_bytes = plan.most_bytes(records=past - first, tokens=tokens)
    return RecordRange(number=number, first=first, past=past, tokens=tokens, room_bytes=room_bytes)
