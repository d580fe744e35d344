"""Copies on this machine: the probe's part of it in domain types."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyEntry, CopyNote, CopyRecord, CopyState, Placed, ReadBack
from artifactctl.hosts.local_act import LocalAct, _bytes, _failures, _text
from artifactctl.hosts.probe import copy_folder, copy_placing, copy_source, copy_writing
from artifactctl.hosts.probe.copy_source import CopyRow
from artifactctl.hosts.probe.rootfolder import RootFolder


class LocalCopies(LocalAct):
    """The methods of `CopyingHost` that are not those of `Host`, on this machine."""

    def copy_entries(self, root: Root, target: ManagedPath) -> tuple[tuple[CopyEntry, ...], tuple[str, ...]]:
        """Return (entries, folders before their content; what could not be looked at)."""
        with _failures(f"listing {display_path(target.absolute)}"):
            rows, problems = copy_source.rows_of(root.path, target.relative)
        return tuple(CopyEntry(*row) for row in rows), tuple(problems)

    def data_ranges(self, path: bytes) -> tuple[tuple[int, int], ...]:
        """Return (offset, length) of everything in a regular file that is no hole."""
        with _failures(f"reading {display_path(path)}"):
            return tuple(copy_source.data_ranges(path))

    def begin_copy(self, root: Root, note: CopyNote, entries: Iterable[CopyEntry]) -> None:
        """Make the folder of a copy with its listing and its note, durably; nothing of it is written yet."""
        with self._looking(root, f"beginning a copy to {root.name}") as folder:
            copy_folder.begin(folder, _note_fields(note), (CopyRow(*entry) for entry in entries))

    def write_copy(self, root: Root, operation: str) -> "LocalCopyWriting":
        """Open a copy that was begun; `Busy` while somebody else writes to it. Close what is returned."""
        with self._looking(root, f"opening the copy {operation}") as folder:
            token = copy_writing.open_writer(folder, operation)
        return LocalCopyWriting(token, root.name)

    def place_copy(self, root: Root, operation: str) -> Placed:
        """Rename a complete copy to its place (NOREPLACE), making folders above it, and fsync both parents."""
        with self._acting(root, f"putting the copy {operation} into its place") as (folder, _):
            return Placed(copy_placing.place(folder, operation))

    def take_copy_away(self, root: Root, operation: str) -> tuple[bytes, ...]:
        """Remove the folder of a copy and what was written there; a copy that is in its place stays."""
        with self._acting(root, f"removing the rest of the copy {operation}") as (folder, _):
            return tuple(copy_placing.take_away(folder, operation))

    def copied(self, root: Root, operation: str) -> tuple[tuple[CopyEntry, ...], Mapping[bytes, str]]:
        """Return (what the copy has, the digests of its files that were read back) from its folder."""
        with self._looking(root, f"reading the listing of the copy {operation}") as folder:
            rows, digests = copy_placing.copied(folder, operation)
        return tuple(CopyEntry(*row) for row in rows), digests

    def copies(self, root: Root) -> tuple[CopyRecord, ...]:
        """Return every copy that has a folder in the root."""
        with self._looking(root, f"looking for copies in {root.name}") as folder:
            return tuple(_record(root, row) for row in copy_placing.copies(folder))

    @contextmanager
    def _looking(self, root: Root, doing: str) -> Iterator[RootFolder]:
        with _failures(doing), self._opened(root) as folder:
            yield folder


class LocalCopyWriting:
    """A copy that is being written on this machine."""

    def __init__(self, token: str, root_name: str) -> None:
        self._token = token
        self._doing = f"writing a copy to {root_name}"

    def entries(self) -> Sequence[CopyEntry]:
        """Return what it will have."""
        with _failures(self._doing):
            return tuple(CopyEntry(*row) for row in copy_writing.rows(self._token))

    def done(self) -> Mapping[bytes, str]:
        """Return the digests of files that are there and were read back."""
        with _failures(self._doing):
            return copy_writing.done(self._token)

    def make_folders(self) -> None:
        """Make its folders."""
        with _failures(self._doing):
            copy_writing.make_folders(self._token)

    def begin_file(self, relative: bytes) -> None:
        """Begin a file from its start."""
        with _failures(self._doing):
            copy_writing.begin_file(self._token, relative)

    def write(self, offset: int, content: bytes) -> None:
        """Write a piece of the file that was begun."""
        with _failures(self._doing):
            copy_writing.write(self._token, offset, content)

    def end_file(self, relative: bytes) -> None:
        """Give it its size, mode and time."""
        with _failures(self._doing):
            copy_writing.end_file(self._token, relative)

    def read_back(self, relatives: Sequence[bytes]) -> tuple[ReadBack, ...]:
        """fsync files, drop their pages from the cache, and hash them as they are read from disk."""
        with _failures(self._doing):
            return tuple(ReadBack(*found) for found in copy_writing.read_back(self._token, list(relatives)))

    def record(self, members: Iterable[tuple[bytes, str]]) -> None:
        """Record durably that files are there."""
        with _failures(self._doing):
            copy_writing.record(self._token, list(members))

    def complete(self) -> None:
        """Finish all that is no file, and mark the copy complete."""
        with _failures(self._doing):
            copy_writing.complete(self._token)

    def close(self) -> None:
        """Let go of it."""
        with _failures(self._doing):
            copy_writing.close_writer(self._token)


def _note_fields(note: CopyNote) -> dict[str, Any]:
    return {
        "operation": note.operation,
        "relative": _text(note.target.relative),
        "name": note.name,
        "source": note.source,
        "fingerprint": note.fingerprint,
        "catalog_id": note.catalog_id,
        "actor": note.actor,
        "at": note.at.isoformat(),
    }


def _record(root: Root, row: dict[str, Any]) -> CopyRecord:
    return CopyRecord(
        operation=row["operation"],
        state=CopyState(row["state"]),
        note=_note(root, row["note"]) if row["note"] else None,
        files=row["files"],
        files_done=row["files_done"],
        size_bytes=row["bytes"],
        done_bytes=row["bytes_done"],
        is_being_written=row["is_being_written"],
    )


def _note(root: Root, fields: dict[str, Any]) -> CopyNote:
    return CopyNote(
        operation=fields["operation"],
        target=ManagedPath(root=root.path, relative=_bytes(fields["relative"])),
        name=fields["name"],
        source=fields["source"],
        fingerprint=fields["fingerprint"],
        catalog_id=fields["catalog_id"],
        actor=fields["actor"],
        at=datetime.fromisoformat(fields["at"]),
    )
