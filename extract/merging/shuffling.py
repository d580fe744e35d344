"""Sorting more than fits into memory: sorted runs on disk, merged in the end.

The order of a corpus is that of a keyed hash of each record's content. So it is determined by the seed and the contents
alone, whatever file or place each came from, and equal records meet each other: one sort shuffles and finds duplicates.
"""

import hashlib
import heapq
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from extract.publishing import scratch_file

BUFFER_BYTES = 64 * 1024 * 1024
MOST_RUNS = 64
"""More runs than this are merged into one before the end: each costs an open file and a buffer."""

_LENGTH = struct.Struct("<I")
_ENTRY_OVERHEAD_BYTES = 60
_READ_BYTES = 128 * 1024


def place_of(content_key: bytes, seed: int) -> bytes:
    """Return where a record stands in the order of the seed: 16 bytes, uniformly distributed."""
    key = seed.to_bytes(8, "little", signed=True)
    return hashlib.blake2b(content_key, key=key, digest_size=16).digest()


class ExternalSort:
    """Takes byte strings in any order and gives them back in ascending order, in bounded memory.

    Runs are files without a name in `folder`, compressed.
    """

    def __init__(self, folder: Path, *, buffer_bytes: int = BUFFER_BYTES, most_runs: int = MOST_RUNS) -> None:
        self._folder = folder
        self._buffer_bytes = buffer_bytes
        self._most_runs = most_runs
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._runs: list[IO[bytes]] = []

    def add(self, entry: bytes) -> None:
        """Take one entry."""
        self._pending.append(entry)
        self._pending_bytes += len(entry) + _ENTRY_OVERHEAD_BYTES
        if self._pending_bytes >= self._buffer_bytes:
            self._spill()

    def ascending(self) -> Iterator[bytes]:
        """Yield every entry in order; nothing can be added afterwards."""
        self._pending.sort()
        yield from heapq.merge(*map(_entries, self._runs), self._pending)

    def close(self) -> None:
        """Give the runs' bytes back."""
        for run in self._runs:
            run.close()
        self._runs.clear()

    def _spill(self) -> None:
        self._pending.sort()
        self._runs.append(_write_run(self._folder, iter(self._pending)))
        self._pending, self._pending_bytes = [], 0
        if len(self._runs) >= self._most_runs:
            merged = _write_run(self._folder, heapq.merge(*map(_entries, self._runs)))
            self.close()
            self._runs.append(merged)


def _write_run(folder: Path, entries: Iterator[bytes]) -> IO[bytes]:
    import zstandard  # heavy for `--help`

    with ExitStack() as opened:
        run = opened.enter_context(scratch_file(folder))
        with zstandard.ZstdCompressor(level=1).stream_writer(run, closefd=False) as packed:
            for entry in entries:
                packed.write(_LENGTH.pack(len(entry)) + entry)
        opened.pop_all()
    return run


def _entries(run: IO[bytes]) -> Iterator[bytes]:
    import zstandard

    run.seek(0)
    with zstandard.ZstdDecompressor().stream_reader(run, read_size=_READ_BYTES, closefd=False) as packed:
        reader = _Exactly(packed)
        while head := reader.take(_LENGTH.size):
            yield reader.take(_LENGTH.unpack(head)[0])


class _Exactly:
    """Takes exact lengths from a stream that gives any; b"" at its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._held = b""
        self._at = 0

    def take(self, length: int) -> bytes:
        while len(self._held) - self._at < length:
            more = self._stream.read(_READ_BYTES)
            if not more:
                if self._at == len(self._held):
                    return b""
                raise EOFError("a run of the shuffle ends within an entry")
            self._held = self._held[self._at :] + more
            self._at = 0
        taken = self._held[self._at : self._at + length]
        self._at += length
        return taken
