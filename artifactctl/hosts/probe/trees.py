"""What a tree consists of: counts, bytes, digests, links that lead out, names outside."""

from __future__ import annotations

import os
import stat
from itertools import islice
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from artifactctl.hosts.probe import kernel
from artifactctl.hosts.probe.digests import TreeDigests, mounted_here
from artifactctl.hosts.probe.mounts import lies_at_or_below
from artifactctl.hosts.probe.surveying import Sighted, Visitor
from artifactctl.hosts.probe.walking import describe, type_letter

Wire = Dict[str, Any]
MOST_EXAMPLES = 1000
_SUBVOLUME_INODE = 256  # the top of every btrfs subvolume, each with an st_dev of its own
Excuse = Callable[[kernel.FileStatus], kernel.FileStatus]
"""Gives a member's status without what our own acts did to it through another name of the same inode."""

_SPECIAL = {
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "fifo",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
}


class _ManyNamed:
    """An inode with several names: how many of them were met, and what it weighs."""

    __slots__ = ("allocated_bytes", "birth_ns", "links", "met", "path")

    def __init__(self, status: kernel.FileStatus, path: bytes) -> None:
        self.links = status.links
        self.birth_ns = status.birth_ns
        self.met = 0
        self.path = path
        self.allocated_bytes = status.allocated_bytes


class TreeSummary(Visitor):
    """Adds up a survey. `inside` are the absolute paths by which a link may name the target and stay inside."""

    def __init__(self, location: bytes, inside: Sequence[bytes], excuse: Optional[Excuse] = None) -> None:
        self._location = location
        self._excuse = excuse
        self._inside = tuple(dict.fromkeys((location, os.path.realpath(location), *inside)))
        self._digests = TreeDigests()
        self._counts = {"f": 0, "d": 0, "l": 0, "o": 0}
        self._apparent = self._allocated = self._shared_names = 0
        self._many: Dict[Tuple[int, int], _ManyNamed] = {}
        self._changed: Tuple[int, bytes] = (0, b"")
        self._written_ns = 0
        self._read: Tuple[int, bytes] = (0, b"")
        self._device = -1
        self._escaping: List[List[str]] = []
        self._special: List[List[str]] = []
        self._problems: List[str] = []

    def entry(self, seen: Sighted) -> None:
        relative, status = seen.relative, seen.status
        if self._excuse is not None:
            status = self._excuse(status)
        letter = type_letter(status.mode)
        self._counts[letter] += 1
        self._digests.add(relative, letter, status)
        if letter != "d":
            self._apparent += status.size
        self._weigh(relative, letter, status)
        self._date(relative, letter, status)
        if letter == "l":
            self._follow(seen)
        elif letter == "o":
            self._note(self._special, relative, _SPECIAL.get(stat.S_IFMT(status.mode), "unknown"))
        elif letter == "d" and relative and status.inode == _SUBVOLUME_INODE and status.device != self._device:
            self._note(self._special, relative, "subvolume")
        if not relative:
            self._device = status.device

    def mounted(self, relative: bytes) -> None:
        self._problems.append(mounted_here(relative))

    def problem(self, text: str) -> None:
        self._problems.append(text)

    def _weigh(self, relative: bytes, letter: str, status: kernel.FileStatus) -> None:
        if letter == "d" or status.links <= 1:
            self._allocated += status.allocated_bytes
            return
        key = (status.device, status.inode)
        known = self._many.get(key)
        if known is None:
            known = self._many[key] = _ManyNamed(status, relative)
            self._allocated += status.allocated_bytes
        known.met += 1

    def _date(self, relative: bytes, letter: str, status: kernel.FileStatus) -> None:
        # A rename into quarantine changes the target's own ctime: a folder must not look recently changed by that. Of a
        # file nothing else tells that it was written to and its mtime put back; `excuse` takes our own rename out.
        counts = relative or letter == "f"
        changed = max(status.modified_ns, status.changed_ns) if counts else status.modified_ns
        if changed > self._changed[0]:
            self._changed = (changed, relative)
        self._written_ns = max(self._written_ns, status.modified_ns)
        # folders and links are read by every look, ours included
        if letter == "f" and status.accessed_ns > self._read[0]:
            self._read = (status.accessed_ns, relative)

    def _follow(self, seen: Sighted) -> None:
        try:
            text = os.readlink(seen.name, dir_fd=seen.folder)
        except OSError as error:
            self._problems.append(describe(error, seen.relative))
            return
        if not self._stays_inside(seen.relative, text):
            self._note(self._escaping, seen.relative, os.fsdecode(text))

    def _stays_inside(self, relative: bytes, text: bytes) -> bool:
        if not relative:  # the target itself is the link: it is removed, what it names is not
            return True
        start = os.path.join(self._location, os.path.dirname(relative))
        lexical = os.path.normpath(os.path.join(start, text))
        if not any(lies_at_or_below(lexical, top) for top in self._inside):
            return False
        real = os.path.realpath(lexical)
        return any(lies_at_or_below(real, top) for top in self._inside)

    def _note(self, examples: List[List[str]], relative: bytes, text: str) -> None:
        if len(examples) < MOST_EXAMPLES:
            examples.append([os.fsdecode(relative), text])

    def summary(self, shared_extents: str) -> Wire:
        """Return everything in wire form."""
        outside = {key: known for key, known in self._many.items() if known.met < known.links}
        exclusive = self._allocated - sum(known.allocated_bytes for known in outside.values())
        names = [
            [os.fsdecode(known.path), known.links - known.met] for known in islice(outside.values(), MOST_EXAMPLES)
        ]
        shared = [
            [inode, known.birth_ns, known.met, known.links, known.allocated_bytes]
            for (_, inode), known in outside.items()
        ]
        return {
            "files": self._counts["f"],
            "directories": self._counts["d"],
            "symlinks": self._counts["l"],
            "apparent_bytes": self._apparent,
            "allocated_bytes": self._allocated,
            "exclusive_bytes": exclusive,
            "fingerprint": self._digests.fingerprint,
            "member_digest": self._digests.member_digest,
            "changed_ns": self._changed[0],
            "changed_path": os.fsdecode(self._changed[1]),
            "written_ns": self._written_ns,
            "read_ns": self._read[0] or None,
            "read_path": os.fsdecode(self._read[1]),
            "escaping_links": self._escaping,
            "special_files": self._special,
            "outside_names": names,
            "shared_inodes": shared,
            "shared_extents": shared_extents,
            "problems": self._problems,
        }
