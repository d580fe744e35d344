"""One pass over /proc: descriptors, mappings, working and root directories and executables of every process.

Matched by stat of what the link leads to, never by its text: a process in a container, or one that opened another
hard link, shows another path. On btrfs the device number in maps is not st_dev, hence map_files.
"""

from __future__ import annotations

import ctypes
import os
import stat
from typing import Dict, FrozenSet, Iterator, List, Optional

from artifactctl.hosts.probe import kernel
from artifactctl.hosts.probe.namespaces import Namespaces
from artifactctl.hosts.probe.uses import Use, UseTable

_KCMP_FILES, _KCMP_FS = 2, 3
_KERNEL_THREAD = 0x00200000
_ENDED = (FileNotFoundError, ProcessLookupError)
_PLACES = (("cwd", "working_directory"), ("root", "root_directory"), ("exe", "executable"))


def process_numbers() -> List[int]:
    """Return the numbers of all visible processes."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


class ProcessLook:
    """A pass that notes every file and folder in use in a UseTable.

    Files on silent network filesystems are skipped by their mount's number, since a stat of them may never return;
    `target_device` (major:minor of mountinfo) is the one filesystem that is always looked at.
    """

    def __init__(self, table: UseTable, namespaces: Namespaces, target_device: str) -> None:
        self._table = table
        self._namespaces = namespaces
        self._target_device = target_device
        self._own = os.getpid()
        self._can_compare = os.readlink("/proc/self") == str(self._own)
        self._anonymous: Dict[int, bytes] = {}

    def run(self) -> None:
        """Look at every process except our own descriptors."""
        for process in process_numbers():
            skipped = self._namespaces.remote_mounts(process, self._target_device)
            try:
                self._inspect(process, skipped)
            except _ENDED:  # a process that ends meanwhile uses nothing
                continue
            except PermissionError:
                if not _is_kernel_thread(process):
                    self._table.denied.add(process)
            else:
                self._table.inspected += 1

    def _inspect(self, process: int, skipped: FrozenSet[int]) -> None:
        self._places(f"/proc/{process}", process, skipped)
        if process == self._own:
            return
        self._descriptors(f"/proc/{process}", process, skipped)
        self._mappings(process)
        for thread in os.listdir(f"/proc/{process}/task"):
            if int(thread) == process:
                continue
            folder = f"/proc/{process}/task/{thread}"
            try:
                if not self._shares(process, int(thread), _KCMP_FILES):
                    self._descriptors(folder, process, skipped)
                if not self._shares(process, int(thread), _KCMP_FS):
                    self._places(folder, process, skipped)
            except _ENDED:
                continue

    def _shares(self, process: int, thread: int, what: int) -> bool:
        """Whether the thread has the same descriptors (or directories) as its process; False when not known."""
        if not self._can_compare:
            return False
        numbers = (ctypes.c_int(process), ctypes.c_int(thread), ctypes.c_int(what), ctypes.c_ulong(0))
        try:
            return kernel.numbered_call("kcmp", *numbers, ctypes.c_ulong(0)) == 0
        except OSError:  # not built in, or not allowed: then both are looked at
            return False

    def _places(self, folder: str, process: int, skipped: FrozenSet[int]) -> None:
        for name, kind in _PLACES:
            link = f"{folder}/{name}"
            if skipped and self._namespaces.leads_to_remote(process, os.readlink(os.fsencode(link))):
                continue
            try:
                seen = os.stat(link)
            except FileNotFoundError:
                if name == "exe":  # a kernel thread
                    continue
                raise
            self._table.add(seen.st_dev, seen.st_ino, Use(kind, process))

    def _descriptors(self, folder: str, process: int, skipped: FrozenSet[int]) -> None:
        descriptor = os.open(f"{folder}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in os.listdir(descriptor):
                if skipped and _mount_of(folder, name) in skipped:
                    continue
                try:
                    seen = os.stat(name, dir_fd=descriptor)
                except FileNotFoundError:  # closed meanwhile
                    continue
                kind = stat.S_IFMT(seen.st_mode)
                if kind in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO):
                    self._table.add(
                        seen.st_dev, seen.st_ino, Use("descriptor", process, f"fd {name}", f"{folder}/fd/{name}")
                    )
                elif kind == 0 and b"io_uring" in os.readlink(os.fsencode(name), dir_fd=descriptor):
                    self._ring(folder, name, process)
        finally:
            os.close(descriptor)

    def _ring(self, folder: str, name: str, process: int) -> None:
        """Files registered with an io_uring have no descriptor; its fdinfo lists their paths."""
        with open(f"{folder}/fdinfo/{name}", "rb") as lines:
            for path in _registered(lines.read()):
                try:
                    seen = os.stat(path)
                except OSError:  # a path of another namespace, or removed: the write lease still answers for it
                    continue
                self._table.add(
                    seen.st_dev, seen.st_ino, Use("descriptor", process, "registered with io_uring", writes=True)
                )

    def _mappings(self, process: int) -> None:
        known = set()
        with open(f"/proc/{process}/maps", "rb") as lines:
            for line in lines:
                fields = line.split(None, 5)
                if len(fields) < 6 or fields[4] == b"0":
                    continue
                what = (_writes_through(fields[1]), fields[3], fields[4], fields[5])
                if what in known:
                    continue
                known.add(what)
                self._mapping(process, fields)

    def _mapping(self, process: int, fields: List[bytes]) -> None:
        major, minor = (int(part, 16) for part in fields[3].split(b":"))
        writes = _writes_through(fields[1])
        use = Use("mapping", process, "writable and shared" if writes else "", writes=writes)
        if major != 0:  # a block device of its own: here maps and stat agree
            self._table.add(os.makedev(major, minor), int(fields[4]), use)
            return
        start, end = (int(part, 16) for part in fields[0].split(b"-"))
        try:
            seen = os.stat(f"/proc/{process}/map_files/{start:x}-{end:x}")
        except FileNotFoundError:  # unmapped meanwhile, or not a file
            return
        except PermissionError:  # needs CAP_CHECKPOINT_RESTORE
            path = _unescape_newlines(fields[5].rstrip(b"\n"))
            self._table.add_uncertain(int(fields[4]), use, path)
            return
        self._table.add(seen.st_dev, seen.st_ino, use)


def _writes_through(permissions: bytes) -> bool:
    """Whether a mapping (`rw-s` of maps) changes the file: private ones change a copy."""
    return permissions[1:2] == b"w" and permissions[3:4] == b"s"


def _unescape_newlines(path: bytes) -> bytes:
    return path.replace(b"\\012", b"\n")


def _registered(content: bytes) -> Iterator[bytes]:
    inside = False
    for line in content.splitlines():
        if line.startswith(b"UserFiles:"):
            inside = True
        elif inside:
            number, separator, path = line.strip().partition(b": ")
            if not separator or not number.isdigit():
                return
            yield path


def _mount_of(folder: str, name: str) -> Optional[int]:
    try:
        with open(f"{folder}/fdinfo/{name}", "rb") as lines:
            for line in lines:
                if line.startswith(b"mnt_id:"):
                    return int(line.split()[1])
    except FileNotFoundError:
        return None
    return None


def _is_kernel_thread(process: int) -> bool:
    """Kernel threads and zombies have no files; only what may have some counts as not inspected."""
    try:
        with open(f"/proc/{process}/stat", "rb") as line:
            fields = line.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & _KERNEL_THREAD)
