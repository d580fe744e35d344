"""One walk over a target in member order (depth first, byte order), shown to several visitors at once."""

from __future__ import annotations

import os
from typing import FrozenSet, Iterator, List, NamedTuple, Sequence

from artifactctl.hosts.probe import kernel
from artifactctl.hosts.probe.folders import FolderStack, MountCrossed, open_quietly
from artifactctl.hosts.probe.walking import describe, sorted_names


class Sighted(NamedTuple):
    """One entry: `relative` to the target (b"" is the target), `name` within the open folder `folder`."""

    relative: bytes
    name: bytes
    folder: int
    status: kernel.FileStatus


class Visitor:
    """What a survey tells; subclasses override what they need."""

    def entry(self, seen: Sighted) -> None:
        """Every entry of the target's mount, folders before their content, the target itself first."""

    def folder(self, relative: bytes, descriptor: int, status: kernel.FileStatus) -> None:
        """A folder was opened; its content follows."""

    def mounted(self, relative: bytes) -> None:
        """Something is mounted here; it is neither an entry nor entered."""

    def problem(self, text: str) -> None:
        """Something could not be looked at."""


class Target(NamedTuple):
    """A name in an open folder. `mounted` are the mount points below it, from mountinfo."""

    folder: int
    name: bytes
    status: kernel.FileStatus
    mounted: FrozenSet[bytes]


class Survey:
    """The walk. It never stops at a problem: it tells the visitors and goes on."""

    def __init__(self, target: Target, visitors: Sequence[Visitor]) -> None:
        self._target = target
        self._visitors = visitors
        self._interested = [each.entry for each in visitors if type(each).entry is not Visitor.entry]

    def run(self) -> None:
        """Walk the whole target once."""
        target = self._target
        self._tell(Sighted(b"", target.name, target.folder, target.status))
        if not target.status.is_directory:
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = open_quietly(target.name, flags, target.folder)
        except OSError as error:
            self._problem(describe(error, b""))
            return
        with FolderStack(descriptor) as stack:
            if stack.status.inode != target.status.inode:
                self._problem("the top folder was replaced during the look")
                return
            self._descend(stack)

    def _tell(self, seen: Sighted) -> None:
        for tell in self._interested:
            tell(seen)

    def _problem(self, text: str) -> None:
        for visitor in self._visitors:
            visitor.problem(text)

    def _mounted(self, relative: bytes) -> None:
        for visitor in self._visitors:
            visitor.mounted(relative)

    def _descend(self, stack: FolderStack) -> None:
        pending: List[Iterator[bytes]] = [self._open(stack)]
        prefix = b""
        while pending:
            name = next(pending[-1], None)
            if name is None:
                pending.pop()
                stack.leave()
                prefix = _prefix(stack)
            elif self._visit(stack, prefix, name) and self._enter(stack, prefix, name):
                pending.append(self._open(stack))
                prefix = _prefix(stack)

    def _open(self, stack: FolderStack) -> Iterator[bytes]:
        relative, descriptor = stack.relative, stack.descriptor
        for visitor in self._visitors:
            visitor.folder(relative, descriptor, stack.status)
        listed = sorted_names(descriptor)
        if listed.problem:
            self._problem(f"{os.fsdecode(relative) or 'the top folder'}: {listed.problem}")
        return iter(listed.names)

    def _visit(self, stack: FolderStack, prefix: bytes, name: bytes) -> bool:
        """Tell about one entry; return whether it is a folder to enter."""
        relative = prefix + name
        try:
            folder = stack.descriptor
            status = kernel.statx(name, folder)
        except OSError as error:
            self._problem(describe(error, relative))
            return False
        foreign = status.mount_id is not None and status.mount_id != stack.mount_id
        if foreign or relative in self._target.mounted:
            self._mounted(relative)
            return False
        self._tell(Sighted(relative, name, folder, status))
        return status.is_directory

    def _enter(self, stack: FolderStack, prefix: bytes, name: bytes) -> bool:
        try:
            stack.enter(name)
        except MountCrossed:
            self._mounted(prefix + name)
            return False
        except OSError as error:
            self._problem(describe(error, prefix + name))
            return False
        return True


def _prefix(stack: FolderStack) -> bytes:
    relative = stack.relative if stack.depth else b""
    return relative + b"/" if relative else b""
