"""A managed root opened for acting: descriptors of the root and of its private folder, checked once, held meanwhile.

The private folder must be a real folder on the root's own mount, 0700, and owned by whoever acts (root may act in the
folder of the root's owner). Everything below is reached from these descriptors, never again by its full path.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from types import TracebackType
from typing import Callable, Iterator, Optional, Type

from artifactctl.hosts.probe import accounts, filesystems, places
from artifactctl.hosts.probe.failures import LockLost, ProbeFailure, RootMismatch
from artifactctl.hosts.probe.kernel import mount_id_of, open_beneath

_DERIVED = "unknown-"  # a name that changes with every boot proves nothing
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def printable(path: bytes) -> str:
    """Return a path for a message."""
    return os.fsdecode(path).encode("utf-8", "backslashreplace").decode()


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """Close the descriptor at the end of the block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_root_folder(path: bytes) -> int:
    """Open the folder of a root; its last component must not be a link."""
    try:
        return os.open(path, _FOLDER)
    except OSError as error:
        remedy = "check that the volume is mounted; `artifactctl root ls` shows where it was"
        raise ProbeFailure(f"cannot open the root {printable(path)}: {error.strerror}", remedy=remedy) from error


def open_private_folder(root_fd: int, path: bytes, name: bytes = places.PRIVATE) -> int:
    """Open and check `.artifactctl` (or a sibling folder); FileNotFoundError when there is none."""
    try:
        private = os.open(name, _FOLDER, dir_fd=root_fd)
    except PermissionError as error:
        owner = os.stat(name, dir_fd=root_fd, follow_symlinks=False).st_uid
        raise accounts.may_not_look_into(path.rstrip(b"/") + b"/" + name, owner) from error
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ProbeFailure(
                f"{printable(path)}/{printable(name)} is not a folder but a link or a file",
                remedy="find out who put it there; nothing is done on this root until it is a folder again",
            ) from error
        raise
    try:
        _check_private(root_fd, private, printable(path) + "/" + printable(name))
    except BaseException:
        os.close(private)
        raise
    return private


@contextmanager
def open_private(path: bytes) -> Iterator[int]:
    """Open the private folder of the root at `path`; ProbeFailure when it is no managed root."""
    with closing(open_root_folder(path)) as root_fd:
        try:
            private_fd = open_private_folder(root_fd, path)
        except FileNotFoundError as error:
            shown = printable(path)
            raise ProbeFailure(f"{shown} is no managed root", remedy=f"`artifactctl root add {shown}`") from error
    with closing(private_fd):
        yield private_fd


def _check_private(root_fd: int, private: int, shown: str) -> None:
    seen, owner = os.fstat(private), os.fstat(root_fd).st_uid
    allowed = {os.geteuid()} | ({owner, 0} if os.geteuid() == 0 else set())
    if seen.st_uid not in allowed:
        whose, mine = accounts.name_of(seen.st_uid), accounts.name_of(os.geteuid())
        raise ProbeFailure(
            f"{shown} belongs to the account {whose}, and this is {mine}", remedy=f"run the command as {whose}"
        )
    if stat.S_IMODE(seen.st_mode) & 0o077:
        raise ProbeFailure(f"{shown} is open to other users", remedy=f"chmod 700 {shown}, after a look at its content")
    if mount_id_of(private) != mount_id_of(root_fd):
        raise ProbeFailure(f"{shown} is a mount of its own", remedy=f"umount {shown}")


def make_folder(name: bytes, dir_fd: int) -> None:
    """mkdir 0700, owned by the owner of the folder around it (root may act in somebody else's root)."""
    os.mkdir(name, 0o700, dir_fd=dir_fd)
    made = os.open(name, _FOLDER, dir_fd=dir_fd)
    try:
        give_to_owner(made, dir_fd)
    finally:
        os.close(made)


def give_to_owner(descriptor: int, folder_fd: int) -> None:
    """Let a file made by root belong to the owner of the folder around it."""
    folder = os.fstat(folder_fd)
    if os.geteuid() == 0 and os.fstat(descriptor).st_uid != folder.st_uid:
        os.fchown(descriptor, folder.st_uid, folder.st_gid)


class RootFolder:
    """The open descriptors `root_fd`, `private_fd`, `quarantine_fd` of one root; a context manager.

    `still_held` tells whether the lock under which it was opened is still there; who opens it for acting sets that.
    """

    def __init__(self, reference: places.RootReference) -> None:
        self.reference = reference
        self.still_held: Callable[[], bool] = lambda: True
        self.root_fd = self.private_fd = self.quarantine_fd = -1
        try:
            self.root_fd = open_root_folder(reference.path)
            self._check_identity()
            self.private_fd = open_private_folder(self.root_fd, reference.path)
            self.quarantine_fd = os.open(places.QUARANTINE, _FOLDER, dir_fd=self.private_fd)
        except FileNotFoundError as error:
            self.close()
            shown = printable(reference.path)
            raise ProbeFailure(
                f"{shown} has no complete {printable(places.PRIVATE)} folder",
                remedy=f"check that the right volume is mounted, then `artifactctl root add {shown}`",
            ) from error
        except BaseException:
            self.close()
            raise

    def _check_identity(self) -> None:
        """The recorded inode on the recorded filesystem: the root inode of every empty xfs has the same number."""
        inode = os.fstat(self.root_fd).st_ino
        filesystem = filesystems.identify(self.root_fd, None)
        if inode != self.reference.inode:
            raise self._mismatch("inode", inode, self.reference.inode)
        if not filesystem.startswith(_DERIVED) and filesystem != self.reference.filesystem_uuid:
            raise self._mismatch("filesystem", filesystem, self.reference.filesystem_uuid)

    def _mismatch(self, what: str, found: object, recorded: object) -> RootMismatch:
        return RootMismatch(
            f"{printable(self.reference.path)} is on {what} {found}, recorded was {recorded}: another volume "
            "is mounted there, or the root was copied, cloned or replaced",
            remedy="mount the original, or `artifactctl root forget` it and add this one as a root of its own",
        )

    def require_lock(self) -> None:
        """LockLost when somebody took the root over meanwhile; asked right before each rename."""
        if not self.still_held():
            raise LockLost(f"the lock of {printable(self.reference.path)} was lost to somebody else")

    def open_parent(self, relative: bytes) -> "tuple[int, bytes]":
        """Return (descriptor of the folder that holds `relative`, its name there), following no link.

        FileNotFoundError, ELOOP or ENOTDIR (a component is a link or a file), EXDEV (a component is a mount).
        """
        parent, name = places.split(relative)
        return open_beneath(self.root_fd, parent), name

    def close(self) -> None:
        """Close all descriptors."""
        for name in ("root_fd", "private_fd", "quarantine_fd"):
            descriptor = getattr(self, name)
            if descriptor >= 0:
                os.close(descriptor)
            setattr(self, name, -1)

    def __enter__(self) -> "RootFolder":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
