"""Reading what is copied in pieces, holes left out, at the rate that is allowed."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from artifactctl.archiving.failures import SourceChanged
from artifactctl.archiving.source import Source
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyEntry

PIECE_BYTES = 8 << 20

Pieces = Callable[[CopyEntry], Iterator[tuple[int, bytes]]]
"""Yields (offset, content) of a file, ascending; what lies between is a hole."""


class Pace:
    """Counts what has passed, tells who listens, and waits where it went faster than is allowed.

    Several threads may count at the same time; all of them together keep to the rate.
    """

    def __init__(self, work: ArchivingWork, sign_of_life: Callable[[int], None] = lambda size_bytes: None) -> None:
        self._work = work
        self._turn = threading.Lock()
        self._sign_of_life = sign_of_life
        self._began = work.elapsed_clock()
        self.passed_bytes = 0

    def passed(self, size_bytes: int) -> None:
        """Count a piece."""
        with self._turn:
            self.passed_bytes += size_bytes
            self._work.progress(size_bytes)
            self._sign_of_life(self.passed_bytes)
        if self._work.bandwidth_bytes is not None:
            due = self.passed_bytes / self._work.bandwidth_bytes
            early = due - (self._work.elapsed_clock() - self._began)
            if early > 0:
                self._work.sleep(early)


def pieces_of_replica(work: ArchivingWork, source: Source) -> Pieces:
    """Return what reads the files of a live copy; it raises SourceChanged at one that is shorter or longer by now."""
    host = work.host_of(source.replica.root)
    longest = min(PIECE_BYTES, work.bandwidth_bytes or PIECE_BYTES)  # no piece takes longer than a second

    def changed(path: bytes, how: str) -> SourceChanged:
        return SourceChanged(
            f"{display_path(path)} changed while it was being copied: it is {how} than it was",
            remedy="run the same command again when nobody writes to it",
        )

    def read(entry: CopyEntry) -> Iterator[tuple[int, bytes]]:
        path = source.path_of(entry.relative)
        for start, length in host.data_ranges(path):
            if start + length > entry.size_bytes:
                raise changed(path, "longer")
            for offset in range(start, start + length, longest):
                wanted = min(longest, start + length - offset)
                content = host.read_range(path, offset, wanted)
                if len(content) != wanted:
                    raise changed(path, "shorter")
                yield offset, content

    return read


def read_ahead(pieces: Pieces) -> Pieces:
    """Return the same pieces, of which the next one is being read while one is written: both far sides then work."""

    def read(entry: CopyEntry) -> Iterator[tuple[int, bytes]]:
        coming = pieces(entry)
        with ThreadPoolExecutor(max_workers=1) as thread:
            following = thread.submit(next, coming, None)
            while (piece := following.result()) is not None:
                following = thread.submit(next, coming, None)
                yield piece

    return read


_ZEROS = bytes(1 << 20)


def zeros(count: int) -> Iterator[bytes]:
    """Yield so many zero bytes, in pieces."""
    while count > 0:
        yield _ZEROS[:count]
        count -= len(_ZEROS)


def add_zeros(update: Callable[[bytes], None], count: int) -> None:
    """Tell a digest of a hole."""
    for piece in zeros(count):
        update(piece)


class Counted:
    """Passes pieces on, hashing and counting them; the digest is that of what has passed."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = pieces
        self.size_bytes = 0
        self._digest = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.size_bytes += len(piece)
            self._digest.update(piece)
            yield piece

    def drain(self) -> None:
        """Let everything pass."""
        for _ in self:
            pass

    @property
    def digest(self) -> str:
        """In hex."""
        return self._digest.hexdigest()
