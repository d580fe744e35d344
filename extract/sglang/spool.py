"""The folder through which states pass: what a record looks like in it, and room for it before it is written.

A record is one file, `REQUEST.states`:

    bytes  0 to  7   b"ACTLHID1"
    bytes  8 to 15   length of the header, little-endian
    then             the header, JSON, padded with spaces so that what follows is aligned
                     token ids, little-endian int32 [L]
                     the states one after the other, each [L, H] in the element type that the header names
    last 32 bytes    SHA-256 of everything before

A refusal is a file `REQUEST.refused` with the reason as JSON. Standard library only: the server imports this.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MAGIC = b"ACTLHID1"
DIGEST_BYTES = 32
STATES, REFUSED = ".states", ".refused"
PARTIAL, REFUSING = ".partial", ".refusing"
OURS = re.compile(r"artifactctl-[A-Za-z0-9_-]{1,120}")
"""Ids of the requests whose states are wanted; a server has others, its own health checks among them."""

_ALIGNMENT_BYTES = 64
_POLL_SECONDS = 0.01
_ADMISSION, _READER = ".admission", ".reader"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class NoRoom(Exception):
    """The record did not get into the folder; the message says why."""


def preamble(header: Mapping[str, Any]) -> bytes:
    """Return what stands before the token ids."""
    content = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    content += b" " * (-(len(MAGIC) + 8 + len(content)) % _ALIGNMENT_BYTES)
    return MAGIC + len(content).to_bytes(8, "little") + content


def checksum() -> "hashlib._Hash":
    """Return the digest of a record's bytes, nothing added yet."""
    return hashlib.sha256()


class SpoolFile:
    """A record while it is written: locked, its room allocated, not yet under its name."""

    def __init__(self, descriptor: int, aside: str, name: str) -> None:
        self._descriptor = descriptor
        self._aside = aside
        self._name = name
        self._digest = checksum()

    def write(self, content: "ReadableBuffer") -> None:
        """Append bytes."""
        self._digest.update(content)
        self._put(content)

    def publish(self) -> None:
        """Append the checksum and give the record its name."""
        try:
            self._put(self._digest.digest())
            os.replace(self._aside, self._name)
        finally:
            os.close(self._descriptor)

    def discard(self) -> None:
        """Give the room back."""
        try:
            _unlink(self._aside)
        finally:
            os.close(self._descriptor)

    def _put(self, content: "ReadableBuffer") -> None:
        view = memoryview(content).cast("B")
        while view:
            view = view[os.write(self._descriptor, view) :]


class Spool:
    """The folder, from both sides. Any number of processes may write; `read_alone` is for the one that reads.

    Server and extraction run as one user: nobody else may look into the folder.
    """

    def __init__(self, folder: str, limit_bytes: int) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes

    def make(self) -> None:
        """Make the folder, where it is not there yet."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)

    def begin(self, request: str, size_bytes: int, *, until: float) -> SpoolFile:
        """Return a file with room for `size_bytes`, waiting for it until `time.monotonic()` says `until`; NoRoom."""
        if size_bytes > self.limit_bytes:
            raise NoRoom(f"it takes {size_bytes} bytes, the spool {self.folder} is limited to {self.limit_bytes}")
        while True:
            admitted = self._admit(request, size_bytes)
            if admitted is not None:
                return admitted
            if time.monotonic() >= until:
                raise NoRoom(f"the spool {self.folder} had no room for {size_bytes} bytes in time")
            time.sleep(_POLL_SECONDS)

    def refuse(self, request: str, reason: str) -> None:
        """Say that a record will not come, and why."""
        aside = self.path(request, REFUSING)
        with open(aside, "w", encoding="utf-8") as file:
            json.dump({"request": request, "reason": reason}, file)
        os.replace(aside, self.path(request, REFUSED))

    def path(self, request: str, suffix: str) -> str:
        """Return where a record or a refusal is; ValueError for the id of a request that is not ours."""
        if not OURS.fullmatch(request):
            raise ValueError(f"{request!r} is not the id of a request of this program")
        return os.path.join(self.folder, request + suffix)

    def used_bytes(self) -> int:
        """Return what records take, whole ones and those being written."""
        return sum(_size_bytes(os.path.join(self.folder, name)) for name in self._names(STATES, PARTIAL))

    def remove(self, request: str) -> None:
        """Take away a record and a refusal, where they are."""
        for suffix in (STATES, REFUSED):
            _unlink(self.path(request, suffix))

    def remove_torn(self) -> None:
        """Take away what writers left that are no more: nobody holds the lock of their file."""
        with self._admission() as alone:
            if alone:
                self._remove_torn()

    @contextmanager
    def read_alone(self) -> Iterator[bool]:
        """Whether this process is the only reader, and remains so inside. What earlier ones left is removed."""
        with _locked(os.path.join(self.folder, _READER)) as alone:
            if alone:
                for name in self._names(STATES, REFUSED, REFUSING):
                    _unlink(os.path.join(self.folder, name))
                self.remove_torn()
            yield alone

    def _admit(self, request: str, size_bytes: int) -> SpoolFile | None:
        """Return a file, None when there is no room now. Admission is one at a time, so the limit is exact."""
        with self._admission() as alone:
            if not alone:
                return None
            if self.used_bytes() + size_bytes > self.limit_bytes:
                self._remove_torn()
                return None
            name, aside = self.path(request, STATES), self.path(request, PARTIAL)
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.posix_fallocate(descriptor, 0, size_bytes)
            except OSError as error:
                _unlink(aside)
                os.close(descriptor)
                if error.errno in _FULL:
                    return None
                raise
            return SpoolFile(descriptor, aside, name)

    def _admission(self) -> Any:
        return _locked(os.path.join(self.folder, _ADMISSION))

    def _remove_torn(self) -> None:
        """Under the admission lock, within which a file is created and locked: an unlocked one has no writer."""
        for name in self._names(PARTIAL):
            with _locked(os.path.join(self.folder, name)) as nobody_writes:
                if nobody_writes:
                    _unlink(os.path.join(self.folder, name))

    def _names(self, *suffixes: str) -> list[str]:
        return [name for name in os.listdir(self.folder) if name.endswith(suffixes)]


@contextmanager
def _locked(path: str) -> Iterator[bool]:
    """Whether the lock of a file is ours inside; it never waits. The file is made where it is not there."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def _size_bytes(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except FileNotFoundError:  # published or taken meanwhile
        return 0


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # taken by whoever it was for
        os.unlink(path)  # noqa: TID251 - a record in the spool, which is a passage of this program's own
