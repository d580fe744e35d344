"""The folder in which a copy comes into being: `.artifactctl/archiving/<operation>/`, and what stands in it.

listing     every entry that the copy will have, written first; its last line is a digest over the others
note.json   what is copied, and where it will stand; from here on the copy is begun
content     the copy, as far as it is
done        a line for each member that was read back from the disk as it must be
complete    everything is there and on disk, with the inode of `content`; from here on it may be put in its place
The folder is renamed to `<operation>.over` before any of this is removed, so that a rest is never taken for a copy.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from artifactctl.hosts.probe import durable, places, subvolumes
from artifactctl.hosts.probe.copy_source import CopyRow
from artifactctl.hosts.probe.failures import ProbeFailure
from artifactctl.hosts.probe.kernel import statx
from artifactctl.hosts.probe.points import reached
from artifactctl.hosts.probe.rootfolder import RootFolder, closing, give_to_owner, make_folder

ARCHIVING = b"archiving"
LISTING, DONE, COMPLETE = b"listing", b"done", b"complete"
OVER_SUFFIX = b".over"
SCHEMA = "artifactctl.copy/1"
OWN_NAMES = (LISTING, places.NOTE, DONE, COMPLETE, *(name + b".next" for name in (LISTING, places.NOTE, COMPLETE)))
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Wire = Dict[str, Any]


def open_archiving(root: RootFolder) -> int:
    """Open the folder of all copies; FileNotFoundError when none was ever begun."""
    return os.open(ARCHIVING, _FOLDER, dir_fd=root.private_fd)


def make_archiving(root: RootFolder) -> int:
    """Open it, made when it is not there."""
    try:
        return open_archiving(root)
    except FileNotFoundError:
        make_folder(ARCHIVING, root.private_fd)
        durable.flush_folder(root.private_fd)
        return open_archiving(root)


def open_copy(root: RootFolder, operation: str) -> int:
    """Open the folder of one copy; ProbeFailure when there is none."""
    try:
        with closing(open_archiving(root)) as archiving_fd:
            return os.open(places.operation_folder(operation), _FOLDER, dir_fd=archiving_fd)
    except FileNotFoundError as error:
        raise ProbeFailure(f"no copy {operation} was begun on this root", remedy="`artifactctl doctor`") from error


def begin(root: RootFolder, note: Wire, rows: Iterable[Sequence[Any]]) -> None:
    """Make the folder of a copy whose entries have the fields of `CopyRow`; when it returns, the intent is on disk."""
    reached("copy:begun")
    folder = places.operation_folder(note["operation"])
    with closing(make_archiving(root)) as archiving_fd:
        make_folder(folder, archiving_fd)
        durable.flush_folder(archiving_fd)
        reached("copy:folder-made")
        with closing(os.open(folder, _FOLDER, dir_fd=archiving_fd)) as folder_fd:
            durable.replace_file(LISTING, folder_fd, _encoded(CopyRow(*row) for row in rows))
            reached("copy:listing-written")
            _write_json(folder_fd, places.NOTE, {"schema": SCHEMA, **note})
            reached("copy:noted")


def _encoded(rows: Iterable[CopyRow]) -> bytes:
    lines = [
        json.dumps(
            [os.fsdecode(r.relative), r.letter, r.size, r.mode, r.modified_ns, os.fsdecode(r.link_target), r.group]
        )
        for r in rows
    ]
    text = "".join(line + "\n" for line in lines).encode("ascii")
    return text + json.dumps({"entries": len(lines), "sha256": hashlib.sha256(text).hexdigest()}).encode() + b"\n"


def rows_in(folder_fd: int) -> List[CopyRow]:
    """Return what the copy will have; ProbeFailure when the listing is not what was written."""
    content = durable.read_file(LISTING, folder_fd)
    lines = content.splitlines(keepends=True)
    text = b"".join(lines[:-1])
    try:
        if json.loads(lines[-1]) != {"entries": len(lines) - 1, "sha256": hashlib.sha256(text).hexdigest()}:
            raise ValueError("its digest is another")
        return [_row(json.loads(line)) for line in lines[:-1]]
    except (IndexError, ValueError, TypeError) as error:
        raise ProbeFailure(
            f"the listing of a copy is not as it was written: {error}",
            remedy="nothing of that copy is live: look into .artifactctl/archiving of the root and remove it by hand",
        ) from error


def _row(fields: List[Any]) -> CopyRow:
    relative, letter, size, mode, modified_ns, target, group = fields
    return CopyRow(os.fsencode(relative), letter, size, mode, modified_ns, os.fsencode(target), group)


def _write_json(folder_fd: int, name: bytes, fields: Wire) -> None:
    durable.replace_file(name, folder_fd, json.dumps(fields, indent=1, sort_keys=True).encode("ascii") + b"\n")


def read_json(folder_fd: int, name: bytes) -> Optional[Wire]:
    """Return what was written under the name, None when nothing was."""
    try:
        fields: Wire = json.loads(durable.read_file(name, folder_fd))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ProbeFailure(f"{os.fsdecode(name)} of a copy cannot be read: {error}") from error
    return fields


class DoneLog:
    """The members that were read back as they must be, appended to durably; a torn last line counts for nothing."""

    def __init__(self, folder_fd: int) -> None:
        self._descriptor = os.open(DONE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder_fd)
        give_to_owner(self._descriptor, folder_fd)
        content = durable.read_all(self._descriptor)
        self._end = content.rfind(b"\n") + 1
        self.known = dict(_done_lines(content))

    def add(self, members: "Iterable[tuple[bytes, str]]") -> None:
        """Record (relative path, SHA-256 in hex) of members; on disk when it returns."""
        found = list(members)
        text = b"".join(json.dumps([os.fsdecode(name), digest]).encode("ascii") + b"\n" for name, digest in found)
        os.ftruncate(self._descriptor, self._end)
        durable.write_all(self._descriptor, text, self._end)
        os.fsync(self._descriptor)
        self._end += len(text)
        self.known.update(found)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def done_in(folder_fd: int) -> Dict[bytes, str]:
    """Return what the log of a copy says, without touching it."""
    try:
        return dict(_done_lines(durable.read_file(DONE, folder_fd)))
    except FileNotFoundError:
        return {}


def _done_lines(content: bytes) -> "Iterator[tuple[bytes, str]]":
    for line in content[: content.rfind(b"\n") + 1].splitlines():
        try:
            name, digest = json.loads(line)
        except ValueError:  # not as it was written: this and what follows is read back once more
            return
        yield os.fsencode(name), digest


def mark_complete(folder_fd: int) -> None:
    """Say that everything is there and on disk; which inode it is tells it from whatever stands at its place later."""
    status = statx(places.CONTENT, folder_fd)
    subvolume = subvolumes.name_at(folder_fd, places.CONTENT, status)
    identity = {"inode": status.inode, "birth_ns": status.birth_ns, "ctime_ns": None, "subvolume": subvolume}
    _write_json(folder_fd, COMPLETE, {"identity": identity})
