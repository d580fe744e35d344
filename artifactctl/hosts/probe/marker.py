"""The marker `.artifactctl/root.json`, which makes a directory a managed root, and the folder around it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import struct
from contextlib import suppress
from typing import Any, Dict, Optional

from artifactctl.hosts.probe import durable, journal, marked, mirrors, places, room, rootlock, subvolumes
from artifactctl.hosts.probe.failures import JournalDamaged, ProbeFailure
from artifactctl.hosts.probe.rootfolder import make_folder, open_private_folder, open_root_folder, printable

SCHEMA = "artifactctl.root/1"
FIELDS = ("root_id", "name", "catalog_id", "catalog_epoch", "filesystem_uuid", "inode", "subvolume")
_WRITTEN_BEFORE = {"subvolume": ""}
_GET_FLAGS, _SET_FLAGS, _NO_COPY_ON_WRITE = 0x80086601, 0x40086602, 0x00800000
_NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EPERM, errno.ENOSYS)


def read_marker(path: bytes) -> Optional[Dict[str, Any]]:
    """Return the marker's fields, None when there is none; ProbeFailure when it cannot be read or parsed.

    `subvolume` is "" where the filesystem has none and where nobody knows for which the marker was written.
    """
    root_fd = open_root_folder(path)
    try:
        private_fd = open_private_folder(root_fd, path)
    except FileNotFoundError:
        return None
    finally:
        os.close(root_fd)
    try:
        marker = _parse(path, durable.read_file(places.MARKER, private_fd))
        return {**marker, "subvolume": marked.subvolume_of(private_fd, marker)}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    finally:
        os.close(private_fd)


def _parse(path: bytes, raw: bytes) -> Dict[str, Any]:
    try:
        marker = json.loads(raw)
        if marker["schema"] != SCHEMA:
            raise _unreadable(path, f"it is {marker['schema']}, not {SCHEMA}")
        return {key: {**_WRITTEN_BEFORE, **marker}[key] for key in FIELDS}
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, f"its content is not a marker ({error})") from error


def _unreadable(path: bytes, reason: str) -> ProbeFailure:
    shown = printable(path)
    return ProbeFailure(
        f"the marker of {shown} cannot be read: {reason}",
        remedy=f"look at {shown}/.artifactctl/root.json; nothing is done on this root until it is readable",
    )


def write_marker(path: bytes, marker: Dict[str, Any]) -> None:
    """Create the private folder with everything an operation needs on a full disk; the marker itself comes last.

    On a root that has one already only the marker is replaced; its journal stays when it belongs to this root, else it
    is kept aside as `journal.of-<root id>` (the quarantines in a copied root are then known by their notes).
    A marker that names no subvolume is written for the one the root lies in.
    """
    root_fd = open_root_folder(path)
    try:
        marker = {**marker, "subvolume": marker["subvolume"] or subvolumes.name_of(root_fd)}
        with suppress(FileExistsError):
            make_folder(places.PRIVATE, root_fd)
        private_fd = open_private_folder(root_fd, path)
        try:
            _furnish(private_fd, marker)
            text = json.dumps({"schema": SCHEMA, **{key: marker[key] for key in FIELDS}}, indent=1) + "\n"
            room.with_room(private_fd, lambda: durable.replace_file(places.MARKER, private_fd, text.encode("ascii")))
        finally:
            os.close(private_fd)
        durable.flush_folder(root_fd)
    finally:
        os.close(root_fd)


def _furnish(private_fd: int, marker: Dict[str, Any]) -> None:
    _forgo_copy_on_write(private_fd)
    with suppress(FileExistsError):
        make_folder(places.QUARANTINE, private_fd)
    _ensure_journal(private_fd, marker)
    _ensure_lock_file(private_fd)
    quarantine_fd = os.open(places.QUARANTINE, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=private_fd)
    try:
        room.make_room(private_fd, quarantine_fd)
        mirrors.make_room(private_fd)
    except OSError as error:
        if error.errno not in room.NO_ROOM:
            raise  # on a full disk a root can still be added: what is missing is made when there is space
    finally:
        os.close(quarantine_fd)
    durable.flush_folder(private_fd)


def _ensure_journal(private_fd: int, marker: Dict[str, Any]) -> None:
    identity = {key: marker[key] for key in ("root_id", "filesystem_uuid", "inode", "subvolume")}
    try:
        header = journal.parse(durable.read_file(places.JOURNAL, private_fd)).header
    except FileNotFoundError:
        header = {}
    except JournalDamaged:
        raise  # a person decides what a damaged journal is worth
    if header and {key: header.get(key) for key in identity} == {**identity, "subvolume": header.get("subvolume")}:
        written_for = marked.subvolume_of(private_fd, header)
        if written_for in ("", identity["subvolume"]):
            return
    if header:
        aside = places.JOURNAL + b".of-" + "".join(c for c in header["root_id"] if c.isalnum() or c == "-").encode()
        os.rename(places.JOURNAL, aside, src_dir_fd=private_fd, dst_dir_fd=private_fd)
    room.with_room(private_fd, lambda: journal.create(private_fd, **identity))


def _ensure_lock_file(private_fd: int) -> None:
    with suppress(FileExistsError):
        durable.fill_file(places.LOCK, private_fd, b" ", rootlock.LOCK_BYTES)


def _forgo_copy_on_write(descriptor: int) -> None:
    """chattr +C: on btrfs only files without copy-on-write can be overwritten when the disk is full."""
    try:
        flags = struct.unpack("=I", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(4)))[0]
        fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("=I", flags | _NO_COPY_ON_WRITE))
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
