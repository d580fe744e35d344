"""Writing a copy aside, in the folder that `copy_folder` describes. Nothing of it is live before it is in its place.

Files are made with O_EXCL and O_NOFOLLOW through descriptors, written at offsets (what is never written is a hole),
given mode and time, fsynced, and read back: only after that may `record` say that they are there. A file that an
interrupted run left half-written is begun anew. Folders get mode and time when everything is in them.

A writer is known to its caller by a token: it lives as long as the process, and nobody else can write to the same copy.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from contextlib import suppress
from typing import Dict, Iterable, List, Optional, Tuple

from artifactctl.hosts.probe import copy_folder, durable, kernel, places
from artifactctl.hosts.probe.copy_source import CopyRow
from artifactctl.hosts.probe.failures import ProbeFailure, RootBusy
from artifactctl.hosts.probe.folders import open_quietly
from artifactctl.hosts.probe.from_disk import ReadBack, read_from_disk
from artifactctl.hosts.probe.kernel import open_beneath
from artifactctl.hosts.probe.points import reached
from artifactctl.hosts.probe.rootfolder import RootFolder, closing, give_to_owner

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_SECOND_NS = 1_000_000_000


_writers: "Dict[str, CopyWriter]" = {}


def open_writer(root: RootFolder, operation: str) -> str:
    """Open a copy that was begun and return the token of its writer; RootBusy while somebody else writes to it."""
    token = uuid.uuid4().hex
    _writers[token] = CopyWriter(root, operation)
    return token


def close_writer(token: str) -> None:
    """Close a writer; what was recorded is on disk. A second time does nothing."""
    writer = _writers.pop(token, None)
    if writer is not None:
        writer.close()


def writer_of(token: str) -> "CopyWriter":
    """Return a writer that is open; ProbeFailure when there is none, as after a broken connection."""
    if token not in _writers:
        raise ProbeFailure("the copy is not being written any more", remedy="run the command again: it goes on")
    return _writers[token]


def rows(token: str) -> List[CopyRow]:
    """Return what the copy will have."""
    return writer_of(token).rows


def done(token: str) -> List[Tuple[bytes, str]]:
    """Return (path, digest) of the files that are there and were read back."""
    return list(writer_of(token).done().items())


def make_folders(token: str) -> None:
    """Make every folder of the copy."""
    writer_of(token).make_folders()


def begin_file(token: str, relative: bytes) -> None:
    """Begin a file from its start."""
    writer_of(token).begin_file(relative)


def write(token: str, offset: int, content: bytes) -> None:
    """Write a piece of the file that was begun."""
    writer_of(token).write(offset, content)


def end_file(token: str, relative: bytes) -> None:
    """Give it size, mode and time."""
    writer_of(token).end_file(relative)


def read_back(token: str, relatives: List[bytes]) -> List[ReadBack]:
    """fsync files, let their pages go and read them."""
    return writer_of(token).read_back(relatives)


def record(token: str, members: "List[Tuple[bytes, str]]") -> None:
    """Record files that were read back."""
    writer_of(token).record((name, digest) for name, digest in members)


def complete(token: str) -> None:
    """Finish all that is no file, and mark the copy complete."""
    writer_of(token).complete()


class CopyWriter:
    """A copy that is being written; close it."""

    def __init__(self, root: RootFolder, operation: str) -> None:
        self._folder_fd = copy_folder.open_copy(root, operation)
        self._content_fd = self._file_fd = -1
        self._log: Optional[copy_folder.DoneLog] = None
        try:
            self._take(operation)
            self.rows = copy_folder.rows_in(self._folder_fd)
            self._log = copy_folder.DoneLog(self._folder_fd)
            self._by_path = {row.relative: row for row in self.rows}
            self._first_names = _first_names(self.rows)
        except BaseException:
            self.close()
            raise

    def _take(self, operation: str) -> None:
        try:
            fcntl.flock(self._folder_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RootBusy(f"the copy {operation} is being written by somebody", remedy="wait until it ends") from error

    def close(self) -> None:
        """Close every descriptor; what was recorded is on disk."""
        if self._log is not None:
            self._log.close()
            self._log = None
        for name in ("_file_fd", "_content_fd", "_folder_fd"):
            descriptor = getattr(self, name)
            if descriptor >= 0:
                os.close(descriptor)
            setattr(self, name, -1)

    def done(self) -> Dict[bytes, str]:
        """Return the digests of the files that are there and were read back, looked at again by size and time."""
        assert self._log is not None
        return {name: digest for name, digest in self._log.known.items() if self._is_as_written(name)}

    def _is_as_written(self, relative: bytes) -> bool:
        row = self._by_path.get(relative)
        try:
            with self._parent(relative) as (parent_fd, name):
                seen = kernel.statx(name, parent_fd)
        except OSError:
            return False
        if row is None or not seen.is_regular or seen.size != row.size:
            return False
        return seen.modified_ns // _SECOND_NS == row.modified_ns // _SECOND_NS  # not every filesystem keeps more

    def make_folders(self) -> None:
        """Make every folder of the copy that is not there yet, open to nobody else for now."""
        for row in self.rows:
            if row.letter == "d":
                with self._parent(row.relative) as (parent_fd, name), suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=parent_fd)

    def _parent(self, relative: bytes) -> "_Parent":
        if not relative:
            return _Parent(os.dup(self._folder_fd), places.CONTENT)
        if self._content_fd < 0:
            self._content_fd = open_beneath(self._folder_fd, places.CONTENT)
        parent, _, name = relative.rpartition(b"/")
        return _Parent(open_beneath(self._content_fd, parent), name)

    def begin_file(self, relative: bytes) -> None:
        """Make a file to be written; what an interrupted run left of it is removed."""
        with self._parent(relative) as (parent_fd, name):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=parent_fd)
            self._file_fd = os.open(name, _NEW_FILE, 0o600, dir_fd=parent_fd)
            give_to_owner(self._file_fd, parent_fd)

    def write(self, offset: int, content: bytes) -> None:
        """Write a piece of the file that was begun."""
        durable.write_all(self._file_fd, content, offset)
        reached("copy:piece-written")

    def end_file(self, relative: bytes) -> None:
        """Give the file its size, mode and time, and close it; it is not on disk yet."""
        row = self._by_path[relative]
        os.ftruncate(self._file_fd, row.size)
        os.fchmod(self._file_fd, row.mode)
        os.utime(self._file_fd, ns=(row.modified_ns, row.modified_ns))
        os.close(self._file_fd)
        self._file_fd = -1

    def read_back(self, relatives: Iterable[bytes]) -> List[ReadBack]:
        """fsync the files, then read each from the disk, past the cache where that can be had."""
        descriptors = []
        try:
            for relative in relatives:
                with self._parent(relative) as (parent_fd, name):
                    descriptors.append(open_quietly(name, _READ, parent_fd))
            for descriptor in descriptors:
                os.fsync(descriptor)
            reached("copy:files-synced")
            return [read_from_disk(descriptor) for descriptor in descriptors]
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def record(self, members: "Iterable[tuple[bytes, str]]") -> None:
        """Say that files are there, by (path, digest read back)."""
        assert self._log is not None
        self._log.add(members)
        reached("copy:files-recorded")

    def complete(self) -> None:
        """Make links, give folders their modes and times, put all of it on disk and say so.

        ProbeFailure while a file was not read back.
        """
        present = self.done()
        missing = [r.relative for r in self.rows if r.letter == "f" and self._is_first(r) and r.relative not in present]
        if missing:
            raise ProbeFailure(f"the copy is not complete: {os.fsdecode(missing[0])} was not read back yet")
        for row in self.rows:
            if row.letter == "l":
                self._make_link(row)
            elif row.letter == "f" and not self._is_first(row):
                self._make_further_name(row)
        for row in reversed(self.rows):
            if row.letter == "d":
                self._finish_folder(row)
        durable.flush_folder(self._folder_fd)
        kernel.syncfs(self._folder_fd)
        copy_folder.mark_complete(self._folder_fd)
        reached("copy:completed")

    def _is_first(self, row: CopyRow) -> bool:
        return not row.group or self._first_names[row.group] == row.relative

    def _make_link(self, row: CopyRow) -> None:
        with self._parent(row.relative) as (parent_fd, name):
            with suppress(FileExistsError):
                os.symlink(row.link_target, name, dir_fd=parent_fd)
            os.utime(name, ns=(row.modified_ns, row.modified_ns), dir_fd=parent_fd, follow_symlinks=False)

    def _make_further_name(self, row: CopyRow) -> None:
        original, further = self._parent(self._first_names[row.group]), self._parent(row.relative)
        with original as (first_fd, first), further as (parent_fd, name), suppress(FileExistsError):
            os.link(first, name, src_dir_fd=first_fd, dst_dir_fd=parent_fd, follow_symlinks=False)

    def _finish_folder(self, row: CopyRow) -> None:
        with self._parent(row.relative) as (parent_fd, name):
            folder_fd = os.open(name, _READ | os.O_DIRECTORY, dir_fd=parent_fd)
        with closing(folder_fd):
            give_to_owner(folder_fd, self._folder_fd)
            os.fchmod(folder_fd, row.mode)
            os.utime(folder_fd, ns=(row.modified_ns, row.modified_ns))
            durable.flush_folder(folder_fd)


class _Parent:
    """(descriptor of the folder, name in it) for the time of a block."""

    def __init__(self, descriptor: int, name: bytes) -> None:
        self._descriptor, self._name = descriptor, name

    def __enter__(self) -> "tuple[int, bytes]":
        return self._descriptor, self._name

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _first_names(rows: Iterable[CopyRow]) -> Dict[int, bytes]:
    first: Dict[int, bytes] = {}
    for row in rows:
        if row.group:
            first.setdefault(row.group, row.relative)
    return first
