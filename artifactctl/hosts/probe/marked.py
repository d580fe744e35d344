"""For which subvolume a root's marker was written: what it says, or what can be proven of one that does not say.

Markers of before did not name the subvolume. The private folder of such a root was made in the subvolume that it lies
in, and its journal after that, unless the folder was carried over: by a snapshot, which is younger than the folder
(btrfs numbers its transactions, so no clock is asked), or by a copy, which is younger than the journal's header says.
"""

from __future__ import annotations

import errno
import fcntl
import json
import struct
from datetime import datetime, timedelta, timezone
from typing import Any, Dict

from artifactctl.hosts.probe import durable, journal, kernel, places, subvolumes
from artifactctl.hosts.probe.failures import JournalDamaged, ProbeFailure, RootMismatch
from artifactctl.hosts.probe.rootfolder import RootFolder, printable
from artifactctl.hosts.probe.subvolumes import Subvolume

ANOTHER = "another"
"""Stands for the subvolume of a marker that was provably carried over from somewhere else."""
_GET_VERSION = 0x80087601  # FS_IOC_GETVERSION: on btrfs the transaction that made the inode, 32 bits of it
_GENERATION_BITS = 0xFFFFFFFF
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NOTHING_TOLD = (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.EACCES, errno.EPERM)


def subvolume_of(private_fd: int, marker: Dict[str, Any]) -> str:
    """Return the subvolume that the marker in the open private folder was written for; "" when nobody knows."""
    recorded = marker.get("subvolume")
    if isinstance(recorded, str) and recorded:
        return recorded
    here = subvolumes.holding(private_fd)
    if here is None or here.name == subvolumes.UNKNOWN:
        return ""
    return _proven(private_fd, here)


def require_original(root: RootFolder) -> None:
    """RootMismatch when the root is a snapshot or copy of what was marked, ProbeFailure when nobody can tell."""
    here = subvolumes.name_of(root.root_fd)
    if not here:
        return
    shown = printable(root.reference.path)
    if here == subvolumes.UNKNOWN:
        raise ProbeFailure(
            f"the kernel does not tell which subvolume {shown} lies in: it could be a snapshot of the root",
            remedy="use a kernel from Linux 4.18 on, outside of a sandbox that forbids BTRFS_IOC_GET_SUBVOL_INFO",
        )
    written_for = subvolume_of(root.private_fd, _marker_in(root.private_fd))
    if not written_for:
        raise ProbeFailure(
            f"for which subvolume {shown} was marked as a root is not known: it could be a snapshot of the root",
            remedy=f"if it is the root itself, `artifactctl root add {shown}` says so",
        )
    if written_for != here:
        raise RootMismatch(
            f"{shown} was marked as a root in another subvolume: it is a snapshot or a copy of the root",
            remedy="put the original back in its place, or `artifactctl root forget` it, remove .artifactctl from the "
            "copy and add that as a root of its own",
        )


def _marker_in(private_fd: int) -> Dict[str, Any]:
    try:
        marker = json.loads(durable.read_file(places.MARKER, private_fd))
    except (FileNotFoundError, ValueError):  # who asks for the marker itself is told so; the journal's header is left
        return {}
    return marker if isinstance(marker, dict) else {}


def _proven(private_fd: int, here: Subvolume) -> str:
    try:
        made_in = _transaction_of(private_fd)
        header = journal.parse(durable.read_file(places.JOURNAL, private_fd)).header
    except (FileNotFoundError, JournalDamaged):
        return ""
    except OSError as error:
        if error.errno not in _NOTHING_TOLD:
            raise
        return ""
    if header.get("subvolume"):
        return str(header["subvolume"])
    made_ns = kernel.statx(b"", private_fd).birth_ns
    if made_ns is None:
        return ""
    oldest = (here.transaction + here.is_snapshot) & _GENERATION_BITS  # a snapshot ends the transaction it is made in
    return ANOTHER if made_in < oldest or made_ns > _written_at_ns(header) else here.name


def _transaction_of(descriptor: int) -> int:
    answer: int = struct.unpack_from("=I", fcntl.ioctl(descriptor, _GET_VERSION, bytes(8)))[0]
    return answer


def _written_at_ns(header: Dict[str, Any]) -> int:
    """Return the last nanosecond of the microsecond that the header tells."""
    return (datetime.fromisoformat(header["at"]) - _EPOCH) // timedelta(microseconds=1) * 1000 + 999
