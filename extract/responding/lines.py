"""A file of JSON lines that only grows: whole lines survive a kill at any moment, a torn last one is cut off."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from artifactctl.domain.errors import Busy, Refused

_CHUNK_BYTES = 1024 * 1024
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class VolumeFull(Refused):
    """There is no room for another line; every line before is whole."""


class GrowingLines:
    """The file at `path`, made when it is not there, locked for one writer as long as it is open."""

    def __init__(self, path: Path) -> None:
        """Open and lock it; Busy when another program writes it."""
        self.path = path
        self._descriptor = os.open(path, _FLAGS, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise Busy(f"another program is writing {path}", remedy="wait for it, or give another --out") from error
        self._end = 0
        self._synced = 0

    def recover(self) -> Iterator[dict[str, Any]]:
        """Yield every whole line, then cut off what a killed run left behind the last one.

        Refused when a line in the middle is broken: no kill leaves that, and what follows it is worth keeping.
        """
        self._end = 0
        for number, line in enumerate(self._whole_lines(), start=1):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            if not isinstance(value, dict):
                if self._end + len(line) + 1 >= os.fstat(self._descriptor).st_size:
                    break  # the last one: a power cut may leave blocks that were never written
                raise Refused(
                    f"line {number} of {self.path} is damaged, and whole ones follow it",
                    remedy="take that line out of the file, and run the same command again",
                )
            self._end += len(line) + 1
            yield value
        os.ftruncate(self._descriptor, self._end)

    def append(self, value: Mapping[str, Any]) -> None:
        """Write one line behind the last; all of it or nothing. VolumeFull."""
        self.append_line(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def append_line(self, text: str) -> None:
        """Write one line of JSON as it is."""
        view = memoryview(f"{text}\n".encode())
        at = self._end
        try:
            while view:
                written = os.pwrite(self._descriptor, view, at)
                view, at = view[written:], at + written
        except OSError as error:
            os.ftruncate(self._descriptor, self._end)
            if error.errno in _FULL:
                raise VolumeFull(
                    f"the volume of {self.path.parent} is full",
                    remedy="artifactctl reclaim makes room; then the same command goes on from here",
                ) from error
            raise
        self._end = at

    @property
    def size_bytes(self) -> int:
        """How long the file is."""
        return self._end

    @property
    def unsynced_bytes(self) -> int:
        """How much of it a power cut could take."""
        return self._end - self._synced

    def sync(self) -> None:
        """Make it durable."""
        os.fsync(self._descriptor)
        self._synced = self._end

    def clear(self) -> None:
        """Take everything out of it."""
        os.ftruncate(self._descriptor, 0)
        self._end = self._synced = 0

    def close(self) -> None:
        """Let it go, and its lock."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _whole_lines(self) -> Iterator[bytes]:
        rest = b""
        offset = 0
        while chunk := os.pread(self._descriptor, _CHUNK_BYTES, offset):
            offset += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
