"""How this machine serves files to others: over NFS and SMB, and into virtual machines.

A client of such a server can have a file open for days with nothing open here between two reads.
"""

from __future__ import annotations

import errno
import os
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from artifactctl.hosts.probe import mounts, processes
from artifactctl.hosts.probe.mounts import lies_at_or_below

_KERNEL_SERVER, _MOUNT_DAEMON = b"nfsd", b"rpc.mountd"
_EXPORT_TABLE = "/var/lib/nfs/etab"
_PROGRAMS = {
    b"ganesha.nfsd": "NFS-Ganesha",
    b"unfsd": "the user-space NFS server",
    b"smbd": "Samba",
    b"ksmbd.mountd": "the kernel's SMB server",
    b"glusterfsd": "Gluster",
    b"diod": "the 9p server diod",
}
"""Those that count by running, whatever they serve."""


class Serving(NamedTuple):
    """How this machine serves files to others: by what program, and what is known of what it serves."""

    program: str
    detail: str


def who_serves(path: bytes) -> List[Serving]:
    """Return who may serve the absolute `path` to other machines.

    knfsd, virtiofsd and QEMU count where what they share overlaps the path; the others by running.
    """
    running = _running()
    found = [Serving("knfsd", os.fsdecode(line)) for line in _kernel_exports() if overlaps(line, path)]
    if not found and running.get(_KERNEL_SERVER):
        found = [Serving("knfsd", os.fsdecode(line)) for line in _configured_exports() if overlaps(line, path)]
    for process in running.get(_MOUNT_DAEMON, []):
        if not _shares_our_network(process):
            found.append(Serving("knfsd", "in a container, whose exports are not visible from here"))
    found += [Serving(title, "runs on this machine") for name, title in sorted(_PROGRAMS.items()) if name in running]
    for name, numbers in sorted(running.items()):
        for shared_by in [reader for start, reader in _SHARING if name.startswith(start)]:
            found += _sharing(name, numbers, shared_by, path)
    return found


def _sharing(
    name: bytes, numbers: List[int], shared_by: Callable[[List[bytes]], Iterator[bytes]], path: bytes
) -> Iterator[Serving]:
    title = os.fsdecode(name)
    for process in numbers:
        words = _words_of(process)
        if words is None:
            yield Serving(title, f"process {process}, whose command line may not be read")
            continue
        for folder in shared_by(words):
            if not folder.startswith(b"/") or overlaps(os.path.normpath(folder), path):
                yield Serving(title, f"process {process} shares {os.fsdecode(folder)} with a virtual machine")


def overlaps(exported: bytes, path: bytes) -> bool:
    """Whether serving `exported` serves something of `path`."""
    return lies_at_or_below(path, exported) or lies_at_or_below(exported, path)


def _lines_of(path: str) -> List[bytes]:
    try:
        with open(path, "rb") as text:
            return text.read().splitlines()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            return [b"/ " + os.fsencode(f"({path} is not readable)")]  # then everything may be exported
        return []


def exported_paths(lines: List[bytes]) -> List[bytes]:
    """Return the paths of an exports(5) file, or of the table that exportfs keeps."""
    return [mounts.unescape(line.split()[0].strip(b'"')) for line in lines if line.strip() and line[:1] != b"#"]


def _kernel_exports() -> List[bytes]:
    """What the kernel knows are the exports that a client has asked for since the start, not all."""
    return exported_paths(_lines_of("/proc/fs/nfsd/exports"))


def _configured_exports() -> List[bytes]:
    files = ["/etc/exports", _EXPORT_TABLE]
    if os.path.isdir("/etc/exports.d"):
        files += [os.path.join("/etc/exports.d", name) for name in sorted(os.listdir("/etc/exports.d"))]
    return [path for name in files for path in exported_paths(_lines_of(name))]


def shared_by_virtiofsd(words: List[bytes]) -> Iterator[bytes]:
    """Yield the folder that a virtiofsd shows to its virtual machine: `--shared-dir DIR`, or `-o source=DIR`."""
    for word, following in _with_the_next(words):
        option, equals, value = word.partition(b"=")
        if option == b"--shared-dir":
            yield value if equals else following
        elif word == b"-o":
            yield from _values(following, b"source")


def shared_by_qemu(words: List[bytes]) -> Iterator[bytes]:
    """Yield the folders that a QEMU shows to its machine over 9p: `-virtfs local,path=DIR`, `-fsdev local,path=DIR`."""
    for word, following in _with_the_next(words):
        if word.lstrip(b"-") in (b"virtfs", b"fsdev"):
            yield from _values(following, b"path")


def _with_the_next(words: List[bytes]) -> Iterator[Tuple[bytes, bytes]]:
    for number, word in enumerate(words):
        yield word, words[number + 1] if number + 1 < len(words) else b""


def _values(options: bytes, name: bytes) -> Iterator[bytes]:
    for option in options.split(b","):
        key, _, value = option.partition(b"=")
        if key == name:
            yield value


_SHARING = ((b"virtiofsd", shared_by_virtiofsd), (b"qemu-", shared_by_qemu))
"""The beginning of a program's name, and how its command line tells what it shares."""


def _running() -> Dict[bytes, List[int]]:
    found: Dict[bytes, List[int]] = {}
    for process in processes.process_numbers():
        name = _name_of(process)
        if name is not None:
            found.setdefault(name, []).append(process)
    return found


def _name_of(process: int) -> Optional[bytes]:
    try:
        with open(f"/proc/{process}/comm", "rb") as text:
            return text.read().strip()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def _words_of(process: int) -> Optional[List[bytes]]:
    """Return the command line, [] of a process that has ended, None when it may not be read."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as text:
            return text.read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []
    except PermissionError:
        return None


def _shares_our_network(process: int) -> bool:
    try:
        return os.stat(f"/proc/{process}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino
    except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        return True
    except PermissionError:
        return False
