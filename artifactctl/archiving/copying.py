"""Copying the bytes: piece by piece, at a given rate, each file read back from the far side before it counts."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from artifactctl.archiving.failures import NotAsCatalogued, NotTheSameBytes, SourceChanged
from artifactctl.archiving.source import Source
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyEntry, CopyWriting

PIECE_BYTES = 8 << 20
SETTLE_BYTES = 64 << 20
SETTLE_FILES = 256
"""Small files are flushed and read back together: a flush of its own for each costs more than the file."""


@dataclass(slots=True, kw_only=True)
class Copied:
    """What one run did. `digests` of all files of the copy, also those of earlier runs; `sent_bytes` of this one.

    `from_device`: every file that this run read back came from the device, not from a cache (None: not known of all).
    """

    digests: dict[bytes, str] = field(default_factory=dict)
    sent_bytes: int = 0
    from_device: bool | None = True
    stopped: bool = False


class Copying:
    """One run over the files of one copy."""

    def __init__(
        self,
        work: ArchivingWork,
        source: Source,
        writing: CopyWriting,
        *,
        stored: Mapping[bytes, bytes],
        sign_of_life: Callable[[int], None],
    ) -> None:
        """`stored` are the digests the catalog has; `sign_of_life(bytes so far)` is called between pieces."""
        self._work = work
        self._source = source
        self._host = work.host_of(source.replica.root)
        self._writing = writing
        self._stored = stored
        self._sign_of_life = sign_of_life
        self._began = work.elapsed_clock()
        self._pending: list[tuple[CopyEntry, str]] = []
        self._copied = Copied(digests=dict(writing.done()))

    def run(self) -> Copied:
        """Copy every file that is not there yet; stops between two pieces when that is asked for."""
        copied = self._copied
        self._writing.make_folders()
        for entry in self._source.files:
            if entry.relative in copied.digests:
                self._work.progress(entry.size_bytes)
                continue
            digest = self._copy_file(entry)
            if digest is None:
                copied.stopped = True
                break
            self._pending.append((entry, digest))
            if self._is_enough():
                self._settle()
        self._settle()
        return copied

    def _copy_file(self, entry: CopyEntry) -> str | None:
        """Send one file and return the SHA-256 of what was read, None when a stop was asked for."""
        digest = hashlib.sha256()
        path = self._source.path_of(entry.relative)
        position = 0
        self._writing.begin_file(entry.relative)
        for offset, length in self._pieces(path, entry):
            if self._work.should_stop():
                return None
            _add_zeros(digest.update, offset - position)
            content = self._host.read_range(path, offset, length)
            if len(content) != length:
                raise self._changed(entry, "it is shorter than it was")
            digest.update(content)
            self._writing.write(offset, content)
            position = offset + length
            self._passed(length)
        _add_zeros(digest.update, entry.size_bytes - position)
        self._writing.end_file(entry.relative)
        self._compare_with_catalog(entry, digest.hexdigest())
        return digest.hexdigest()

    def _pieces(self, path: bytes, entry: CopyEntry) -> Iterator[tuple[int, int]]:
        """Yield (offset, length) of what is to be read; holes are left out, and no piece is longer than a second."""
        longest = min(PIECE_BYTES, self._work.bandwidth_bytes or PIECE_BYTES)
        for start, length in self._host.data_ranges(path):
            if start + length > entry.size_bytes:
                raise self._changed(entry, "it is longer than it was")
            for offset in range(start, start + length, longest):
                yield offset, min(longest, start + length - offset)

    def _passed(self, size_bytes: int) -> None:
        self._copied.sent_bytes += size_bytes
        self._work.progress(size_bytes)
        self._sign_of_life(self._copied.sent_bytes)
        if self._work.bandwidth_bytes is not None:
            due = self._copied.sent_bytes / self._work.bandwidth_bytes
            early = due - (self._work.elapsed_clock() - self._began)
            if early > 0:
                self._work.sleep(early)

    def _is_enough(self) -> bool:
        size_bytes = sum(entry.size_bytes for entry, _ in self._pending)
        return size_bytes >= SETTLE_BYTES or len(self._pending) >= SETTLE_FILES

    def _settle(self) -> None:
        """Have what was sent read back from the far side's disk; only what is the same is recorded."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        found = self._writing.read_back([entry.relative for entry, _ in pending])
        for (entry, sent), back in zip(pending, found, strict=True):
            if back.digest != sent:
                raise NotTheSameBytes(
                    f"{display_path(self._source.path_of(entry.relative))} is not the same on the far side: "
                    f"{sent[:16]} was sent, {back.digest[:16]} was read back",
                    remedy="look at the disk and memory of that machine (its kernel log), then run the command again",
                )
            if self._copied.from_device and not back.from_device:
                self._copied.from_device = back.from_device
        self._writing.record([(entry.relative, digest) for entry, digest in pending])
        self._copied.digests.update({entry.relative: digest for entry, digest in pending})

    def _compare_with_catalog(self, entry: CopyEntry, digest: str) -> None:
        stored = self._stored.get(entry.relative)
        if stored is not None and stored.hex() != digest:
            shown = display_path(self._source.path_of(entry.relative))
            raise NotAsCatalogued(
                f"{shown}: its bytes are not those whose digest was stored",
                remedy=f"artifactctl verify {self._source.artifact.name} --level digests",
            )

    def _changed(self, entry: CopyEntry, how: str) -> SourceChanged:
        return SourceChanged(
            f"{display_path(self._source.path_of(entry.relative))} changed while it was being copied: {how}",
            remedy="run the same command again when nobody writes to it",
        )


_ZEROS = bytes(1 << 20)


def _add_zeros(update: Callable[[bytes], None], count: int) -> None:
    """Tell a digest of a hole."""
    while count > 0:
        update(_ZEROS[:count])
        count -= len(_ZEROS)
