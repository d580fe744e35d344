"""Members in member order out of a walk, whose folders come whole."""

from collections.abc import Iterable, Iterator

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.members import Member
from artifactctl.hosts.protocol import Entry, EntryType, Listing

_LETTERS = {EntryType.FILE: "f", EntryType.SYMLINK: "l", EntryType.OTHER: "o"}


def members_in_order(listings: Iterable[Listing], *, is_directory: bool = True) -> Iterator[Member]:
    """Yield (path, type letter, size) of everything that is not a folder, in `member_order`.

    Holds the unread rest of the folders on the way down only. `is_directory` false: the walk began at a file, whose
    member path is empty. HostFailure at a folder that could not be read: a partial answer is none.
    """
    if not is_directory:
        for listing in listings:
            yield from ((b"", _LETTERS[entry.type], entry.size_bytes) for entry in listing.entries)
        return
    pending: list[tuple[bytes, Iterator[Entry]]] = []
    for listing in listings:
        if listing.problem:
            raise HostFailure(listing.problem, remedy="make the folder readable, or run the command as its owner")
        yield from _before(pending, listing.relative)
        if not listing.is_mount:
            pending.append((listing.relative, iter(listing.entries)))
    yield from _before(pending, None)


def _before(pending: list[tuple[bytes, Iterator[Entry]]], reached: bytes | None) -> Iterator[Member]:
    """Yield what comes before the folder `reached` (None: the end), dropping folders that are used up."""
    while pending:
        folder, entries = pending[-1]
        for entry in entries:
            relative = folder + b"/" + entry.name if folder else entry.name
            if relative == reached:
                return
            if entry.type is not EntryType.DIRECTORY:
                yield relative, _LETTERS[entry.type], entry.size_bytes
        pending.pop()
