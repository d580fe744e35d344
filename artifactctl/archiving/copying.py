"""Copying the bytes into a root: piece by piece, each file read back from the far side before it counts."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from artifactctl.archiving.failures import NotAsCatalogued, NotTheSameBytes
from artifactctl.archiving.pieces import Pace, Pieces, add_zeros
from artifactctl.archiving.source import Origin
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyEntry, CopyWriting

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
        origin: Origin,
        writing: CopyWriting,
        *,
        pieces: Pieces,
        stored: Mapping[bytes, bytes],
        sign_of_life: Callable[[int], None],
    ) -> None:
        """`pieces` reads the origin, `stored` are the digests the catalog has.

        `sign_of_life(bytes so far)` is called between pieces.
        """
        self._work = work
        self._origin = origin
        self._read = pieces
        self._writing = writing
        self._stored = stored
        self._pace = Pace(work, sign_of_life)
        self._pending: list[tuple[CopyEntry, str]] = []
        self._copied = Copied(digests=dict(writing.done()))

    def run(self) -> Copied:
        """Copy every file that is not there yet; stops between two pieces when that is asked for."""
        copied = self._copied
        self._writing.make_folders()
        for entry in self._origin.files:
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
        copied.sent_bytes = self._pace.passed_bytes
        return copied

    def _copy_file(self, entry: CopyEntry) -> str | None:
        """Send one file and return the SHA-256 of what was read, None when a stop was asked for."""
        digest = hashlib.sha256()
        position = 0
        self._writing.begin_file(entry.relative)
        for offset, content in self._read(entry):
            if self._work.should_stop():
                return None
            add_zeros(digest.update, offset - position)
            digest.update(content)
            self._writing.write(offset, content)
            position = offset + len(content)
            self._pace.passed(len(content))
        add_zeros(digest.update, entry.size_bytes - position)
        self._writing.end_file(entry.relative)
        self._compare_with_catalog(entry, digest.hexdigest())
        return digest.hexdigest()

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
                    f"{self._shown(entry)} is not the same on the far side: "
                    f"{sent[:16]} was sent, {back.digest[:16]} was read back",
                    remedy="look at the disk and memory of that machine (its kernel log), then run the command again",
                )
            if self._copied.from_device and not back.from_device:
                self._copied.from_device = back.from_device
        self._writing.record([(entry.relative, digest) for entry, digest in pending])
        self._copied.digests.update({entry.relative: digest for entry, digest in pending})

    def _compare_with_catalog(self, entry: CopyEntry, digest: str) -> None:
        require_stored_digest(self._origin, entry, digest, self._stored)

    def _shown(self, entry: CopyEntry) -> str:
        return f"{self._origin.artifact.name}: {display_path(entry.relative) or 'the file'}"


def require_stored_digest(origin: Origin, entry: CopyEntry, digest: str, stored: Mapping[bytes, bytes]) -> None:
    """NotAsCatalogued when the catalog has another digest of the file than what was read."""
    known = stored.get(entry.relative)
    if known is not None and known.hex() != digest:
        name = origin.artifact.name
        raise NotAsCatalogued(
            f"{name}: the bytes of {display_path(entry.relative) or 'the file'} are not those whose digest was stored",
            remedy=f"artifactctl verify {name} --level digests",
        )
