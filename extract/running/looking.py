"""What lies where the shard of a range should be: by its content, never by its name."""

import errno
from dataclasses import dataclass
from pathlib import Path

from artifactctl.domain.errors import Refused
from extract.running.corpus import Corpus
from extract.running.ranges import RecordRange
from extract.shards.reader import BrokenShard, Shard, open_shard
from extract.shards.writer import ShardPlan, WrittenShard


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundShard:
    """A whole shard of the range; `present` are the numbers of its records, of which some may be missing."""

    written: WrittenShard
    present: frozenset[int]


def found_shard(
    folder: Path, part: RecordRange, corpus: Corpus, plan: ShardPlan, *, reads_all: bool
) -> FoundShard | None:
    """Return the shard of a range that is there, None when none is; `reads_all` holds every byte to its checksum.

    BrokenShard when it is damaged. Refused when it is a shard of something else, which is not ours to replace.
    """
    path = folder / part.shard_name
    try:
        with open_shard(path) as shard:
            _require_of_range(shard, part, corpus, plan)
            problem = next(shard.problems(), "") if reads_all else ""
            if problem:
                raise BrokenShard(problem, remedy="the same command again extracts its records again")
            written = WrittenShard(path=path, size_bytes=path.stat().st_size, records=len(shard), tokens=shard.tokens)
            return FoundShard(written=written, present=frozenset(shard.indexes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        raise BrokenShard(
            f"{path} can not be read: {error.strerror}", remedy="look at the disk before anything is written to it"
        ) from error


def _require_of_range(shard: Shard, part: RecordRange, corpus: Corpus, plan: ShardPlan) -> None:
    differences = plan.fingerprint.differences(shard.fingerprint)
    records = zip(shard.indexes(), shard.token_hashes(), strict=True)
    if not differences and not all(
        part.first <= index < part.past and corpus.key(index) == key for index, key in records
    ):
        differences = ("its records are not those of its range",)
    if differences:
        raise Refused(
            f"{shard.path} is of another run: {'; '.join(differences)}",
            remedy="move it away, then the same command again: its records are extracted anew",
        )
