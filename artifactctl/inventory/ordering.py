"""The entries of a walk in `member_order`, although folders come whole.

A folder's listing names its files and folders together, and its folders' listings follow. What comes before a folder
is given out when that folder is reached, the rest when the walk has left it. Held are only the folders on the way.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from artifactctl.recognition.seen import join

T = TypeVar("T")


class Ordering(Generic[T]):
    """`put` a folder's entries as (name, anything), `advance` to the next folder; `give` receives them in order."""

    def __init__(self, give: Callable[[bytes, T], None]) -> None:
        self._give = give
        self._pending: list[tuple[bytes, Iterator[tuple[bytes, T]]]] = []

    def advance(self, folder: bytes | None) -> None:
        """Give out everything that comes before the folder, its own entry included; None is the end of the walk."""
        while self._pending:
            parent, entries = self._pending[-1]
            for name, entry in entries:
                relative = join(parent, name)
                self._give(relative, entry)
                if relative == folder:
                    return
            self._pending.pop()

    def put(self, folder: bytes, entries: Sequence[tuple[bytes, T]]) -> None:
        """Take the entries of the folder that was advanced to, in byte order of their names."""
        self._pending.append((folder, iter(entries)))
