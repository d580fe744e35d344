"""Copies, wherever the probe runs: its part of them in domain types."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostUnreachable
from artifactctl.domain.identity import ManagedPath
from artifactctl.hosts.acts import _bytes, _reference, _text
from artifactctl.hosts.calling import Calls
from artifactctl.hosts.copies import CopyEntry, CopyNote, CopyRecord, CopyState, Placed, ReadBack
from artifactctl.hosts.failing import acting, asking, looking


class Copying:
    """The methods of `CopyingHost` that are not those of `Host`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def copy_entries(self, root: Root, target: ManagedPath) -> tuple[tuple[CopyEntry, ...], tuple[str, ...]]:
        """Return (entries, folders before their content; what could not be looked at)."""
        with looking("list", target.absolute):
            rows, problems = self._calls.ask("copy_rows", root.path, target.relative)
        return tuple(CopyEntry(*row) for row in rows), tuple(problems)

    def data_ranges(self, path: bytes) -> tuple[tuple[int, int], ...]:
        """Return (offset, length) of everything in a regular file that is no hole."""
        with looking("read", path):
            return tuple((offset, length) for offset, length in self._calls.ask("data_ranges", path))

    def begin_copy(self, root: Root, note: CopyNote, entries: Iterable[CopyEntry]) -> None:
        """Make the folder of a copy with its listing and its note, durably; nothing of it is written yet."""
        with acting(f"beginning a copy to {root.name}"):
            self._calls.ask("begin_copy", _reference(root), _note_fields(note), [list(entry) for entry in entries])

    def write_copy(self, root: Root, operation: str) -> "WrittenCopy":
        """Open a copy that was begun; `Busy` while somebody else writes to it. Close what is returned."""
        with asking(f"opening the copy {operation}"):
            token: str = self._calls.ask("copying_open", _reference(root), operation)
        return WrittenCopy(self._calls, token, root.name)

    def place_copy(self, root: Root, operation: str) -> Placed:
        """Rename a complete copy to its place (NOREPLACE), making folders above it, and fsync both parents."""
        with acting(f"putting the copy {operation} into its place"):
            return Placed(self._calls.ask("place_copy", _reference(root), operation))

    def take_copy_away(self, root: Root, operation: str) -> tuple[bytes, ...]:
        """Remove the folder of a copy and what was written there; a copy that is in its place stays."""
        with acting(f"removing the rest of the copy {operation}"):
            return tuple(self._calls.ask("take_copy_away", _reference(root), operation))

    def copied(self, root: Root, operation: str) -> tuple[tuple[CopyEntry, ...], Mapping[bytes, str]]:
        """Return (what the copy has, the digests of its files that were read back) from its folder."""
        with asking(f"reading the listing of the copy {operation}"):
            rows, digests = self._calls.ask("copied", _reference(root), operation)
        return tuple(CopyEntry(*row) for row in rows), _by_path(digests)

    def copies(self, root: Root) -> tuple[CopyRecord, ...]:
        """Return every copy that has a folder in the root."""
        with asking(f"looking for copies in {root.name}"):
            return tuple(_record(root, row) for row in self._calls.ask("copies", _reference(root)))


class WrittenCopy:
    """A copy that is being written; with the connection to the machine it is let go of."""

    def __init__(self, calls: Calls, token: str, root_name: str) -> None:
        self._calls = calls
        self._token = token
        self._doing = f"writing a copy to {root_name}"

    def entries(self) -> Sequence[CopyEntry]:
        """Return what it will have."""
        with asking(self._doing):
            return tuple(CopyEntry(*row) for row in self._calls.ask("copying_rows", self._token))

    def done(self) -> Mapping[bytes, str]:
        """Return the digests of files that are there and were read back."""
        with asking(self._doing):
            return _by_path(self._calls.ask("copying_done", self._token))

    def make_folders(self) -> None:
        """Make its folders."""
        self._act("copying_make_folders")

    def begin_file(self, relative: bytes) -> None:
        """Begin a file from its start."""
        self._act("copying_begin_file", relative)

    def write(self, offset: int, content: bytes) -> None:
        """Write a piece of the file that was begun."""
        self._act("copying_write", offset, content)

    def end_file(self, relative: bytes) -> None:
        """Give it its size, mode and time."""
        self._act("copying_end_file", relative)

    def read_back(self, relatives: Sequence[bytes]) -> tuple[ReadBack, ...]:
        """fsync files and hash them as they are read from disk."""
        return tuple(ReadBack(*found) for found in self._act("copying_read_back", list(relatives)))

    def record(self, members: Iterable[tuple[bytes, str]]) -> None:
        """Record durably that files are there."""
        self._act("copying_record", [list(member) for member in members])

    def complete(self) -> None:
        """Finish all that is no file, and mark the copy complete."""
        self._act("copying_complete")

    def close(self) -> None:
        """Let go of it; one that went with the connection is let go of already."""
        try:
            with asking(self._doing):
                self._calls.ask("copying_close", self._token)
        except HostUnreachable:
            return

    def _act(self, name: str, *arguments: Any) -> Any:
        with acting(self._doing):
            return self._calls.ask(name, self._token, *arguments)


def _by_path(pairs: Iterable[Sequence[Any]]) -> dict[bytes, str]:
    return {path: digest for path, digest in pairs}


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
