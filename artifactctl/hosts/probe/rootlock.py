"""The root's exclusive operation lock: flock on `.artifactctl/lock`, with the holder's name inside.

The kernel gives it up when the holder dies. A frozen holder can lose it (somebody removes the lock file, a network
filesystem forgets the lock), so whoever acts asks `still_held` in between.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sys
import uuid
from typing import Any, Dict

from artifactctl.hosts.probe import durable, places, room
from artifactctl.hosts.probe.failures import RootBusy
from artifactctl.hosts.probe.rootfolder import RootFolder, printable
from artifactctl.hosts.probe.secrecy import without_passwords

LOCK_BYTES = 4096
_ATTEMPTS = 8


class RootLock:
    """The lock, held from construction to `release`; RootBusy (naming the holder) when somebody else has it."""

    def __init__(self, root: RootFolder, *, alone_after_seconds: float = 0.0) -> None:
        """Take it. `alone_after_seconds`: after how much silence an agent that holds it gives it up, 0 for others."""
        self._path = root.reference.path
        self._owner = uuid.uuid4().hex
        self._private_fd = os.dup(root.private_fd)
        self._descriptor = -1
        try:
            self._descriptor = self._acquire()
            command = without_passwords(" ".join(sys.argv))[:500]
            holder = {"owner": self._owner, "pid": os.getpid(), "command": command, "alone_after": alone_after_seconds}
            text = json.dumps(holder)
            self._write(text.encode("ascii"))
        except BaseException:
            self.release()
            raise

    def _acquire(self) -> int:
        """Lock the file that stands at the path: one that was replaced while we waited proves nothing."""
        for _ in range(_ATTEMPTS):
            descriptor = room.with_room(
                self._private_fd, lambda: durable.open_to_overwrite(places.LOCK, self._private_fd)
            )
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                holder = _holder(descriptor)
                os.close(descriptor)
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
                raise self._busy(holder) from error
            if self._stands_at_path(descriptor):
                return descriptor
            os.close(descriptor)
        raise self._busy({})

    def _busy(self, holder: Dict[str, Any]) -> RootBusy:
        who = f"process {holder['pid']} ({holder['command']})" if holder else "another operation"
        remedy = "wait until it has ended, then try again"
        if holder.get("alone_after"):
            remedy += f"; if the connection of whoever started it broke, it ends by itself {holder['alone_after']:.0f} "
            remedy += "seconds after that"
        return RootBusy(f"{printable(self._path)} is locked by {who}", remedy=remedy)

    def _write(self, text: bytes) -> None:
        padded = text + b" " * max(0, LOCK_BYTES - len(text))
        room.with_room(self._private_fd, lambda: durable.write_all(self._descriptor, padded, 0))

    def _stands_at_path(self, descriptor: int) -> bool:
        try:
            there = os.stat(places.LOCK, dir_fd=self._private_fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        ours = os.fstat(descriptor)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def still_held(self) -> bool:
        """Whether the lock file below the root's path is still the one we locked and carries our name."""
        if self._descriptor < 0 or not self._stands_at_path(self._descriptor):
            return False
        return _holder(self._descriptor).get("owner") == self._owner and self._private_is_in_place()

    def _private_is_in_place(self) -> bool:
        try:
            root = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False  # the root went away: whatever the reason, the lock on it is worth nothing now
        try:
            there = os.stat(places.PRIVATE, dir_fd=root, follow_symlinks=False)
        except FileNotFoundError:
            return False
        finally:
            os.close(root)
        ours = os.fstat(self._private_fd)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def release(self) -> None:
        """Give it up; a second call does nothing."""
        if self._descriptor >= 0:
            if self.still_held():
                durable.write_all(self._descriptor, b" " * LOCK_BYTES, 0)
            os.close(self._descriptor)
            self._descriptor = -1
        if self._private_fd >= 0:
            os.close(self._private_fd)
            self._private_fd = -1


def _holder(descriptor: int) -> Dict[str, Any]:
    """Return what the lock file says about its holder, {} when nothing readable stands there."""
    text = os.pread(descriptor, LOCK_BYTES, 0).rstrip(b" \0")
    try:
        holder = json.loads(text) if text else {}
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}
