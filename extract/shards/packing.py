"""A packed dump: writing its shards one after the other, going on where a run before stopped, reading it as one."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate, count
from pathlib import Path

from artifactctl.domain.errors import Refused
from extract.shards.fingerprint import RunFingerprint
from extract.shards.manifest import NAME, PackedManifest, Rejected, listed, read_packed_manifest, write_manifest
from extract.shards.reader import BrokenShard, Shard, open_shard
from extract.shards.records import RejectedRecord, StateRecord, require_fit, token_hash
from extract.shards.writer import ShardPlan, ShardWriter, WrittenShard

SHARD_BYTES = 4 * 2**30
"""Shards are about so large; one record that is larger gets a shard of its own."""

MOST_OPEN = 64
"""Shards that a reader keeps open: who reads in random order would open one for every record."""

OnShard = Callable[[WrittenShard], None]
"""Called when a shard has its name; the place to tell the catalog how much is written."""


class PackedWriter:
    """Writes a packed dump into an existing folder. What a run before wrote there counts, if its fingerprint is ours.

    `written` counts the records by content key (`token_hash`) that need not be written again. Every record beyond them
    goes through `append`; `finish` writes the manifest. `prefix` keeps several writers in one folder apart: those
    `flush`, and whoever has the `shards` of all calls `write_manifest`.
    """

    def __init__(
        self,
        folder: Path,
        plan: ShardPlan,
        *,
        shard_bytes: int = SHARD_BYTES,
        on_shard: OnShard = lambda _shard: None,
        prefix: str = "shard",
    ) -> None:
        self._folder = folder
        self._plan = plan
        self._shard_bytes = shard_bytes
        self._on_shard = on_shard
        self._prefix = prefix
        self._shards: list[WrittenShard] = []
        self._rejected: dict[int, Rejected] = {}
        self._current: ShardWriter | None = None
        self._lost_records = False
        self.written: Counter[bytes] = Counter()
        if (folder / NAME).exists():
            raise Refused(f"{folder} is complete: it has its {NAME}", remedy="give another --out")
        self._take_over()

    @property
    def shards(self) -> tuple[WrittenShard, ...]:
        """The shards that are whole, those of runs before included."""
        return tuple(self._shards)

    def append(self, record: StateRecord) -> None:
        """Write a record into the current shard, or the next; RejectedRecord, and nothing written, when it is unfit."""
        self._require_nothing_lost()
        try:
            require_fit(record, self._plan.form)
        except RejectedRecord as rejected:
            self._rejected[record.index] = Rejected(index=record.index, reason=str(rejected))
            raise
        key = token_hash(record.token_ids)
        if self._current is not None and not self._current.fits(record):
            self.flush()
        if self._current is None:
            room_bytes = self._plan.room_bytes(self._shard_bytes, record.tokens)
            self._current = ShardWriter(self._path(len(self._shards)), self._plan, room_bytes=room_bytes)
        self._lost_records = True  # until all of it is written: half a record would shift every one behind it
        self._current.append(record, key)
        self._lost_records = False
        self.written[key] += 1

    def reject(self, index: int, reason: str) -> None:
        """Note that a record will be missing."""
        self._rejected[index] = Rejected(index=index, reason=reason)

    def flush(self) -> None:
        """Finish the shard that is being written."""
        self._require_nothing_lost()
        writer, self._current = self._current, None
        if writer is not None:
            self._lost_records = True
            self._shards.append(writer.finish())
            self._lost_records = False
            self._on_shard(self._shards[-1])

    def finish(self) -> PackedManifest:
        """Finish the last shard and write the manifest."""
        self.flush()
        manifest = PackedManifest(
            plan=self._plan,
            shards=tuple(listed(shard) for shard in self._shards),
            rejected=tuple(self._rejected[index] for index in sorted(self._rejected)),
        )
        write_manifest(self._folder, manifest)
        return manifest

    def complete(self) -> None:
        """The same as `finish`, as every writer of dumps has it."""
        self.finish()

    def abandon(self) -> None:
        """Give back the room of the shard that is being written; whole shards stay."""
        writer, self._current = self._current, None
        if writer is not None:
            self._lost_records = True
            writer.abandon()

    def _require_nothing_lost(self) -> None:
        if self._lost_records:
            raise ValueError("records that this writer took are not on disk: a new writer goes on where it is whole")

    def _take_over(self) -> None:
        for number in count():
            path = self._path(number)
            if not path.exists():
                return
            with open_shard(path) as shard:
                self._require_ours(shard)
                self.written.update(shard.token_hashes())
                self._shards.append(
                    WrittenShard(path=path, size_bytes=path.stat().st_size, records=len(shard), tokens=shard.tokens)
                )

    def _require_ours(self, shard: Shard) -> None:
        differences = self._plan.fingerprint.differences(shard.fingerprint)
        if shard.form != self._plan.form:
            differences = (*differences, f"states {self._plan.form} here, {shard.form} there")
        if differences:
            raise Refused(
                f"{shard.path} was written by another run: {'; '.join(differences)}",
                remedy="give another --out, or run the command that began it",
            )

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._prefix}-{number:05d}.safetensors"


class PackedDump:
    """A complete packed dump as one sequence of records; shards are opened when they are needed, and some stay open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = read_packed_manifest(folder)
        self.form = self.manifest.plan.form
        self._ends = tuple(accumulate(shard.records for shard in self.manifest.shards))
        self._open: dict[int, Shard] = {}

    @property
    def fingerprint(self) -> RunFingerprint:
        """What its run was made of."""
        return self.manifest.plan.fingerprint

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, position: int) -> StateRecord:
        if not -len(self) <= position < len(self):
            raise IndexError(f"{self.folder} holds {len(self)} records, there is no record {position}")
        position %= len(self)
        number = bisect_right(self._ends, position)
        return self._shard(number)[position - (self._ends[number - 1] if number else 0)]

    def __iter__(self) -> Iterator[StateRecord]:
        return (self[position] for position in range(len(self)))

    def close(self) -> None:
        """Close the shards that are open."""
        while self._open:
            self._open.popitem()[1].close()

    def _shard(self, number: int) -> Shard:
        if number in self._open:
            return self._open[number]
        if len(self._open) >= MOST_OPEN:
            self._open.pop(next(iter(self._open))).close()
        listing = self.manifest.shards[number]
        shard = open_shard(self.folder / listing.name)
        if (len(shard), shard.tokens) != (listing.records, listing.tokens):
            shard.close()
            raise BrokenShard(
                f"{shard.path} holds {len(shard)} records, its manifest lists {listing.records}",
                remedy="extract its records again",
            )
        self._open[number] = shard
        return shard
