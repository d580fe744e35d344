"""Where a look for holders cannot reach on this machine, and what would settle each."""

from __future__ import annotations

import errno
import os
import pwd
import shlex
from typing import Any, Dict, List, NamedTuple, Optional

from artifactctl.hosts.probe import mounts, processes
from artifactctl.hosts.probe.mounts import Mount, lies_at_or_below

Wire = Dict[str, Any]
_FIRST_PID_NAMESPACE = 0xEFFFFFFC
_SERVERS = {
    b"ganesha.nfsd": "NFS-Ganesha",
    b"smbd": "Samba",
    b"glusterfsd": "Gluster",
    b"nfsd": "the kernel's NFS server",
}
WITH_SUDO = "run the same command with sudo"


class Serving(NamedTuple):
    """How this machine serves files to others: by what program, and whether it is known to cover the path."""

    program: str
    detail: str


def spot(kind: str, count: int, detail: str, settled_by: str) -> Wire:
    """Return one blind spot in wire form."""
    return {"kind": kind, "count": count, "detail": detail, "settled_by": settled_by}


def in_first_pid_namespace() -> bool:
    """Whether this process sees all processes of the machine: the first PID namespace has a fixed inode."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino == _FIRST_PID_NAMESPACE
    except FileNotFoundError:  # a kernel without PID namespaces has one only
        return True


def belonging(count: int, relative: bytes, owner: int) -> str:
    """Return how many files are not ours, with the path and the owner of the first."""
    return f"{count} of them not ours, such as {os.fsdecode(relative) or 'the file itself'} of {_account(owner)}"


def making_ours(path: bytes) -> str:
    """Return the command that makes everything at `path` ours, so that the kernel answers."""
    words = ["sudo", "chown", "-R", "-h", _account(os.geteuid()), os.fsdecode(path)]
    return "`" + " ".join(shlex.quote(word) for word in words) + "`, or " + WITH_SUDO


def _account(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def foreign_processes(denied: int, inspected: int) -> List[Wire]:
    """Return the spot for processes whose descriptors could not be read."""
    if not denied:
        return []
    settled = WITH_SUDO if os.geteuid() else "run the same command with CAP_SYS_PTRACE, outside of any container"
    text = f"descriptors of {denied} of {denied + inspected} processes could not be read"
    return [spot("foreign_processes", denied, text, settled)]


def of_processes(table: List[Mount]) -> List[Wire]:
    """Return the spots for processes that are not even visible."""
    found = []
    proc = [mount for mount in table if mount.point == b"/proc" and mount.type == "proc"]
    hidden = proc and any(_hides(option) for option in proc[-1].options)
    if hidden and os.geteuid() != 0:
        found.append(spot("hidden_processes", 1, "/proc is mounted with hidepid", WITH_SUDO))
    if not in_first_pid_namespace():
        text = "this runs in a PID namespace: processes outside of it are not visible"
        found.append(
            spot("pid_namespace", 1, text, "run the same command on the machine itself, outside of the container")
        )
    return found


def _hides(option: bytes) -> bool:
    name, _, value = option.partition(b"=")
    return name == b"hidepid" and value not in (b"0", b"off")


def of_filesystem(mount: Mount) -> List[Wire]:
    """Return the spot for a filesystem that others can have open."""
    if mount.type in mounts.NETWORK_TYPES:
        text = f"{mount.type} from {mount.source}: other machines can have files open"
        return [spot("network_filesystem", 1, text, "root add --sole-clients, naming every machine that mounts it")]
    if mount.is_remote or mount.type == "fuseblk":
        text = f"{mount.type} from {mount.source}: its server can have files open, or serve them to others"
        return [spot("network_filesystem", 1, text, "root add --attest lease, or add the folder that it serves")]
    return []


def serving(path: bytes) -> List[Serving]:
    """Return who may serve the absolute `path` to other machines.

    knfsd counts where an export overlaps the path; Ganesha, Samba and Gluster count by running, whatever they export.
    """
    found = [Serving("knfsd", os.fsdecode(line)) for line in _kernel_exports() if overlaps(line, path)]
    names = _running_servers()
    if "the kernel's NFS server" in names and not found:
        found += [Serving("knfsd", os.fsdecode(line)) for line in _configured_exports() if overlaps(line, path)]
    found += [Serving(name, "runs on this machine") for name in names if name != "the kernel's NFS server"]
    return found


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
    """Return the paths of an exports(5) file."""
    return [mounts.unescape(line.split()[0].strip(b'"')) for line in lines if line.strip() and line[:1] != b"#"]


def _kernel_exports() -> List[bytes]:
    return exported_paths(_lines_of("/proc/fs/nfsd/exports"))


def _configured_exports() -> List[bytes]:
    files = ["/etc/exports"]
    if os.path.isdir("/etc/exports.d"):
        files += [os.path.join("/etc/exports.d", name) for name in sorted(os.listdir("/etc/exports.d"))]
    return [path for name in files for path in exported_paths(_lines_of(name))]


def _running_servers() -> List[str]:
    found = set()
    for process in processes.process_numbers():
        name = _name_of(process)
        if name in _SERVERS:
            found.add(_SERVERS[name])
    return sorted(found)


def _name_of(process: int) -> Optional[bytes]:
    try:
        with open(f"/proc/{process}/comm", "rb") as text:
            return text.read().strip()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
