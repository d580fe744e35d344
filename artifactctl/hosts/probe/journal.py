"""The root's journal: it decides where bytes are.

One file of one-line records, `<length> <checksum> <JSON>`, numbered without gaps; the first is the header (root id,
filesystem UUID, the root's inode, its subvolume, schema). The rest of the file is zeros that were written ahead of
need and are overwritten by the next records, so that an append needs no new block on a full disk. An append is on disk
when `append` returns. A torn last record never happened; anything else that does not check out is damage, and then
nothing is done on this root.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from datetime import datetime, timezone
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from artifactctl.hosts.probe import durable, places, room
from artifactctl.hosts.probe.failures import JournalDamaged, ProbeFailure, RootMismatch
from artifactctl.hosts.probe.points import reached
from artifactctl.hosts.probe.rootfolder import RootFolder, printable

SCHEMA = "artifactctl.journal/1"
GROWTH_BYTES = 128 << 10
_START = re.compile(rb"(\d{6}) ([0-9a-f]{16}) \{")
_PREFIX = 24  # six digits, blank, sixteen of the checksum, blank
_LONGEST = 999_999

Record = Dict[str, Any]


class Content(NamedTuple):
    """A journal as read: the header, the records after it, and where the next one goes."""

    header: Record
    records: Tuple[Record, ...]
    end: int
    size: int
    torn: bool


def encode(record: Record) -> bytes:
    """Return the line of a record; paths in it are surrogate-escaped text, which JSON keeps as ASCII."""
    body = json.dumps(record, separators=(",", ":"), sort_keys=True).encode("ascii") + b"\n"
    if len(body) > _LONGEST:
        raise ProbeFailure(f"a journal record of {len(body)} bytes is too long")
    return b"%06d %s " % (len(body), _checksum(body)) + body


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()


def _record_at(raw: bytes, offset: int) -> Optional[Tuple[Record, int]]:
    """Return (record, offset after it), None when no whole record stands at `offset`."""
    start = _START.match(raw, offset)
    if start is None:
        return None
    end = offset + _PREFIX + int(start.group(1))
    body = raw[offset + _PREFIX : end]
    if len(body) != int(start.group(1)) or _checksum(body) != start.group(2):
        return None
    record: Record = json.loads(body)
    return record, end


def parse(raw: bytes) -> Content:
    """Read a journal; JournalDamaged when something other than the last record is not whole."""
    records: List[Record] = []
    offset = 0
    found = _record_at(raw, 0)
    while found is not None:
        record, offset = found
        if record.get("number") != len(records):
            raise _damaged(f"record {len(records)} is missing")
        records.append(record)
        found = _record_at(raw, offset)
    if not records or records[0].get("schema") != SCHEMA:
        raise _damaged("its header is unreadable")
    tail_is_clean = raw.count(0, offset) == len(raw) - offset
    if not tail_is_clean and any(_record_at(raw, start.start()) for start in _START.finditer(raw, offset)):
        raise _damaged(f"record {len(records)} is unreadable and whole ones follow it")
    return Content(records[0], tuple(records[1:]), offset, len(raw), not tail_is_clean)


def _damaged(what: str) -> JournalDamaged:
    return JournalDamaged(
        f"the journal is damaged: {what}",
        remedy="nothing is done on this root meanwhile. Copy .artifactctl away, move .artifactctl/journal aside and "
        "`artifactctl root add` the root again: what is quarantined is then found by its note.json",
    )


def create(private_fd: int, *, root_id: str, filesystem_uuid: str, inode: int, subvolume: str = "") -> None:
    """Write a journal with only its header and space for what is to come, durably."""
    header = {
        "number": 0,
        "schema": SCHEMA,
        "root_id": root_id,
        "filesystem_uuid": filesystem_uuid,
        "inode": inode,
        "subvolume": subvolume,
        "at": now_text(),
    }
    line = encode(header)
    durable.replace_file(places.JOURNAL, private_fd, line + bytes(GROWTH_BYTES - len(line)))


def now_text() -> str:
    """Return this machine's clock as ISO 8601 with microseconds, UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


class Journal:
    """The journal of one open root."""

    def __init__(self, root: RootFolder) -> None:
        self._root = root

    def read(self) -> Content:
        """Return the journal; RootMismatch when its header belongs to another root, JournalDamaged when damaged."""
        try:
            content = parse(durable.read_file(places.JOURNAL, self._root.private_fd))
        except FileNotFoundError as error:
            shown = printable(self._root.reference.path)
            remedy = f"`artifactctl root add {shown}` makes a new one; quarantined folders are found by their note.json"
            raise JournalDamaged(f"the journal of {shown} is missing", remedy=remedy) from error
        self._check_header(content.header)
        return content

    def _check_header(self, header: Record) -> None:
        reference = self._root.reference
        for key, expected in (
            ("root_id", reference.root_id),
            ("filesystem_uuid", reference.filesystem_uuid),
            ("inode", reference.inode),
        ):
            if header[key] != expected:
                raise RootMismatch(
                    f"the journal in {printable(reference.path)} belongs to another root: its {key} is "
                    f"{header[key]}, this root's is {expected}. The folder is a copy or a clone, so the journal is "
                    "ignored",
                    remedy="use the original, or `artifactctl root add` this one as a root of its own",
                )

    def append(self, operation: str, event: str, details: Optional[Record] = None) -> None:
        """Add a record and return when it is on the device."""
        descriptor = os.open(places.JOURNAL, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._root.private_fd)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            content = parse(durable.read_all(descriptor))
            self._check_header(content.header)
            if content.torn:
                durable.write_all(descriptor, bytes(content.size - content.end), content.end)
            record = {**(details or {}), "number": len(content.records) + 1, "operation": operation, "event": event}
            line = encode({**record, "at": now_text()})
            self._ensure_space(descriptor, content, len(line))
            _write_line(descriptor, line, content.end)
        finally:
            os.close(descriptor)

    def _ensure_space(self, descriptor: int, content: Content, needed: int) -> None:
        """Keep half a growth of written space ahead; only what this record needs may cost ballast."""
        ahead = content.size - content.end
        if ahead >= needed + GROWTH_BYTES // 2:
            return
        try:
            _grow(descriptor, content.size, GROWTH_BYTES)
        except OSError as error:
            if error.errno not in room.NO_ROOM:
                raise
            os.ftruncate(descriptor, content.size)
            if ahead < needed:
                more = -(-(needed - ahead) // 4096) * 4096
                room.with_room(self._root.private_fd, lambda: _grow(descriptor, content.size, more))


def _grow(descriptor: int, size: int, more: int) -> None:
    durable.write_all(descriptor, bytes(more), size)
    os.fsync(descriptor)


def _write_line(descriptor: int, line: bytes, offset: int) -> None:
    """Write and flush; a record that may not have reached the device is taken back, so that nobody acts on it."""
    try:
        durable.write_all(descriptor, line[: len(line) // 2], offset)
        reached("journal:half-written")
        durable.write_all(descriptor, line[len(line) // 2 :], offset + len(line) // 2)
        os.fdatasync(descriptor)
    except OSError:
        durable.write_all(descriptor, bytes(len(line)), offset)
        raise
    reached("journal:written")
