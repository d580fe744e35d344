"""What is in use on this machine, by inode: the common table that all sources of holders write to."""

from __future__ import annotations

import os
import stat
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from artifactctl.hosts.probe import kernel
from artifactctl.hosts.probe.secrecy import without_passwords


class Use(NamedTuple):
    """One use of one inode. `kind` is a value of the domain's HolderKind; `process` None: nobody to name.

    `link` is the /proc link of a descriptor; `writes` says of any other use that content can be changed through it.
    """

    kind: str
    process: Optional[int]
    detail: str = ""
    link: str = ""
    writes: bool = False

    def may_write(self) -> bool:
        """Whether content can be changed through it now; the mode of a descriptor's link shows how it was opened."""
        if not self.link:
            return self.writes
        try:
            return bool(os.lstat(self.link).st_mode & stat.S_IWUSR)
        except (FileNotFoundError, ProcessLookupError):  # closed meanwhile
            return False


class UncertainUse(NamedTuple):
    """A mapping known only from the text of /proc/<pid>/maps, whose device number is wrong on btrfs."""

    use: Use
    path: bytes


class UseTable:
    """Uses by (st_dev, st_ino), and what could not be looked at."""

    def __init__(self) -> None:
        self._by_inode: Dict[Tuple[int, int], List[Use]] = {}
        self._uncertain: Dict[int, List[UncertainUse]] = {}
        self.inspected = 0
        self.denied: Set[int] = set()
        self.unreadable: List[str] = []

    def add(self, device: int, inode: int, use: Use) -> None:
        """Note that an inode is in use."""
        known = self._by_inode.setdefault((device, inode), [])
        if use not in known:
            known.append(use)

    def add_uncertain(self, inode: int, use: Use, path: bytes) -> None:
        """Note a use whose filesystem is not known for sure."""
        self._uncertain.setdefault(inode, []).append(UncertainUse(use, path))

    def of(self, status: kernel.FileStatus) -> Sequence[Use]:
        """Return the uses of what has this status."""
        return self._by_inode.get((status.device, status.inode), ())

    def is_uncertain_about(self, inode: int) -> bool:
        """Whether a use on an unknown filesystem has this inode number."""
        return inode in self._uncertain

    def uncertain_of(self, inode: int, path: bytes) -> Sequence[Use]:
        """Return the uses of this inode number on an unknown filesystem under the absolute `path`."""
        return [item.use for item in self._uncertain.get(inode, ()) if item.path == path]

    def on_device(self, device: int) -> Iterator[Tuple[int, Use]]:
        """Yield (st_ino, use) on one filesystem, and those whose filesystem is not known for sure."""
        for (where, inode), uses in self._by_inode.items():
            if where == device:
                for use in uses:
                    yield inode, use
        for inode, unsure in self._uncertain.items():
            for item in unsure:
                yield inode, item.use


def command_of(process: Optional[int]) -> str:
    """Return the command line of a process, its name when there is none, "" when it has ended meanwhile."""
    if process is None:
        return ""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as line:
            words = line.read(400).replace(b"\0", b" ").strip()
        if not words:
            with open(f"/proc/{process}/comm", "rb") as line:
                words = line.read().strip()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    return without_passwords(words.decode("utf-8", "backslashreplace"))[:200]
