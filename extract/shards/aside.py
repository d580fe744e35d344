"""A file while it is being written: beside its place, locked, its room allocated before its first byte."""

import errno
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from artifactctl.api.publishing import publish
from artifactctl.domain.errors import Busy, Refused, UsageError
from extract.publishing import replace_durably

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

SUFFIX = ".partial"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_FULL = (errno.ENOSPC, errno.EDQUOT)


class AsideFile:
    """`NAME.partial`, for one writer. What a killed writer left under the name is taken over and written anew."""

    def __init__(self, place: Path, room_bytes: int, *, mark: str = "", replaces: bool = False) -> None:
        """Lock the file and allocate its room; Busy when another writer has it, Refused when there is no room.

        `mark` comes before the suffix: writers that take a place over from each other have one each. With `replaces`
        it takes the place of what is there, which stays until then.
        """
        self.place = place
        self._replaces = replaces
        self.aside = place.with_name(place.name + mark + SUFFIX)
        self._descriptor = _locked(self.aside)
        try:
            if not replaces and os.path.lexists(place):
                raise UsageError(f"{place} is there already", remedy="give another --out, or move it away")
            os.ftruncate(self._descriptor, 0)
            self._allocate(room_bytes)
        except BaseException:
            self.close()
            raise

    def write(self, offset: int, parts: "Sequence[ReadableBuffer]") -> int:
        """Write the parts one after the other; return where the next byte belongs."""
        try:
            for part in parts:
                view = memoryview(part).cast("B")
                while view:
                    written = os.pwrite(self._descriptor, view, offset)
                    view, offset = view[written:], offset + written
        except OSError as error:
            raise (self._no_room(offset) if error.errno in _FULL else error) from error
        return offset

    def publish(self, size_bytes: int) -> None:
        """Cut the file to its length, make it durable and give it its name."""
        try:
            os.ftruncate(self._descriptor, size_bytes)
            os.fsync(self._descriptor)
            (replace_durably if self._replaces else publish)(self.aside, self.place)
        except FileExistsError as error:
            raise UsageError(f"{self.place} appeared meanwhile", remedy="let one program at a time write") from error
        finally:
            self.close()

    def abandon(self) -> None:
        """Give the room back; the empty file stays for the next writer."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            self.close()

    def close(self) -> None:
        """Let the lock go."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _allocate(self, room_bytes: int) -> None:
        try:
            os.posix_fallocate(self._descriptor, 0, max(1, room_bytes))
        except OSError as error:
            os.ftruncate(self._descriptor, 0)
            raise (self._no_room(room_bytes) if error.errno in _FULL else error) from error

    def _no_room(self, room_bytes: int) -> Refused:
        mebibytes = -(-room_bytes // 2**20)
        return Refused(
            f"{self.place.name} needs up to {mebibytes:,} MiB, and {self.place.parent} has not so much room",
            remedy=f"artifactctl reclaim --need {mebibytes}MiB, then the same command again: it goes on from here",
        )


def _locked(path: Path) -> int:
    """Return the descriptor of the file at `path` with its lock; Busy when somebody else has it."""
    while True:
        descriptor = os.open(path, _FLAGS, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise Busy(f"another program is writing {path}", remedy="wait for it, or give another --out") from error
        os.close(descriptor)  # published under its name between our open and our lock


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
