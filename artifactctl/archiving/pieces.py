"""Reading what is copied in pieces, holes left out, at the rate that is allowed."""

from collections.abc import Callable, Iterator

from artifactctl.archiving.failures import SourceChanged
from artifactctl.archiving.source import Source
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyEntry

PIECE_BYTES = 8 << 20

Pieces = Callable[[CopyEntry], Iterator[tuple[int, bytes]]]
"""Yields (offset, content) of a file, ascending; what lies between is a hole."""


class Pace:
    """Counts what has passed, tells who listens, and waits where it went faster than is allowed."""

    def __init__(self, work: ArchivingWork, sign_of_life: Callable[[int], None]) -> None:
        self._work = work
        self._sign_of_life = sign_of_life
        self._began = work.elapsed_clock()
        self.passed_bytes = 0

    def passed(self, size_bytes: int) -> None:
        """Count a piece."""
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
