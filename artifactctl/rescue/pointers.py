"""What names something else: symbolic links, and the small text files in which trainers keep the latest or the best."""

import posixpath
import re
from collections.abc import Iterator, Sequence

from artifactctl.hosts.protocol import Entry, EntryType
from artifactctl.recognition.seen import Read, join
from artifactctl.recognition.views import first_line
from artifactctl.rescue.finds import Pointer

_TEXTS = frozenset(
    stem + middle + suffix
    for stem in (b"latest", b"last", b"best")
    for middle in (b"", b"_checkpoint", b"_checkpointed_iteration")
    for suffix in (b"", b".txt")
) | {b"checkpoint"}
_LARGEST_TEXT_BYTES = 4096
_LAST_NUMBER = re.compile(rb"(\d+)\D*")


def pointers_in(tops: Sequence[bytes], folder: bytes, entries: Sequence[Entry], read: Read) -> Iterator[Pointer]:
    """Yield what in a folder points somewhere below the search, whose top has the absolute names `tops`."""
    for entry in entries:
        if entry.type is EntryType.SYMLINK:
            target = _below(tops, folder, entry.link_target)
            if target is not None:
                yield Pointer(relative=join(folder, entry.name), target=target)
        elif entry.name in _TEXTS and entry.type is EntryType.FILE and entry.size_bytes <= _LARGEST_TEXT_BYTES:
            yield from _named_in(join(folder, entry.name), folder, entries, read)


def _below(tops: Sequence[bytes], folder: bytes, target: bytes) -> bytes | None:
    """Return the target relative to the search, None when it leads elsewhere; links on the way are not followed."""
    for top in tops:
        absolute = posixpath.normpath(posixpath.join(top, folder, target))
        if absolute.startswith(top.rstrip(b"/") + b"/"):
            return absolute[len(top.rstrip(b"/")) + 1 :]
    return None


def _named_in(text: bytes, folder: bytes, entries: Sequence[Entry], read: Read) -> Iterator[Pointer]:
    """Yield the siblings that the first line of a text file names, in full, by path or by number alone."""
    said = first_line(read, text).encode("utf-8", "surrogateescape").strip(b"\"' ")
    name = said.rstrip(b"/").rpartition(b"/")[2]
    if not name:
        return
    for entry in entries:
        number = _LAST_NUMBER.search(entry.name) if name.isdigit() else None
        is_numbered = number is not None and int(number[1]) == int(name)
        if entry.name == name or is_numbered:
            yield Pointer(relative=text, target=join(folder, entry.name))
