"""Emptying a quarantined tree along its manifest.

Driven by the manifest, not by what lies there: a name that is not in it is never touched, and memory does not grow
with the number of members. One folder is entered at a time, relative to descriptors; links are not followed, mounts
not crossed, no Python frame is nested. A folder is removed when its last member was dealt with and it is empty.

Every few unlinks, and at least every 50 ms, the way up from the folder in hand must still lead to the quarantine (a
folder that somebody moves out is not emptied at its new place) and the root's lock must still be ours.
"""

from __future__ import annotations

import errno
import os
import time
from typing import Callable, Iterator, List, NamedTuple, Optional, Set

from artifactctl.hosts.probe import kernel, places
from artifactctl.hosts.probe.folders import FolderStack, MountCrossed
from artifactctl.hosts.probe.manifest import Member, matches
from artifactctl.hosts.probe.points import reached
from artifactctl.hosts.probe.witness import Witness

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BATCH_ACTS, _BATCH_SECONDS = 16, 0.05
_MOST_REPORTED = 1000


class Pace(NamedTuple):
    """How to go on: how fast, when to stop, and whether the root's lock is still ours."""

    still_held: Callable[[], bool]
    should_stop: Optional[Callable[[], bool]] = None
    files_per_second: Optional[float] = None


class Stopped(Exception):
    """Nothing more may be unlinked now; the reason is "" when it was asked for."""


class Emptying:
    """One pass over a manifest; the counts and reports are its result."""

    def __init__(
        self, holding_fd: int, *, pace: Pace, witness: Witness, progress: Optional[Callable[[int, int], None]] = None
    ) -> None:
        self.removed_files = 0
        self.removed_bytes = 0
        self.mismatched: List[bytes] = []
        self.errors: List[str] = []
        self.interrupted = False
        self._holding_fd = holding_fd
        self._holding = kernel.statx(b"", holding_fd)
        self._pace = pace
        self._witness = witness
        self._progress = progress
        self._stack: Optional[FolderStack] = None
        self._entered: List[Member] = []
        self._left: List[Set[bytes]] = []
        self._skipped_depth: Optional[int] = None
        self._acts_left = 0
        self._check_again_at = 0.0
        self._next_unlink_at = time.monotonic()

    def run(self, members: Iterator[Member]) -> None:
        """Unlink what matches. The manifest must have been read to its end before."""
        try:
            for member in members:
                self._deal_with(member)
            self._leave_to(0)
        except Stopped as stopped:
            self.interrupted = True
            if str(stopped):
                self._report_error(str(stopped))
        finally:
            if self._stack is not None:
                self._stack.close()
            self._witness.settle()

    def _deal_with(self, member: Member) -> None:
        if self._skipped_depth is not None:
            if member.depth > self._skipped_depth:
                return
            self._skipped_depth = None
        self._leave_to(member.depth)
        name = member.name if member.depth else places.CONTENT
        if member.kind != "d":
            self._wait_for_turn()
        self._check_batch()
        try:
            status = kernel.statx(name, self._folder_fd())
        except FileNotFoundError:
            self._skip(member)  # already gone: done
            return
        except OSError as error:
            self._leave_alone(member, name, error)
            return
        if not matches(member, status) or status.mount_id != self._holding.mount_id:
            self._report_mismatch(name)
            self._skip(member)
        elif member.kind == "d":
            self._enter(member, name)
        else:
            self._unlink(member, name, status)

    def _folder_fd(self) -> int:
        return self._stack.descriptor if self._stack is not None else self._holding_fd

    def _skip(self, member: Member) -> None:
        """Pass over everything below a folder that is not dealt with."""
        if member.kind == "d":
            self._skipped_depth = member.depth

    def _enter(self, member: Member, name: bytes) -> None:
        try:
            if self._stack is None:
                self._stack = FolderStack(os.open(name, _FOLDER, dir_fd=self._holding_fd))
            else:
                self._stack.enter(name)
        except (MountCrossed, OSError) as error:
            self._leave_alone(member, name, error)
            return
        self._entered.append(member)
        self._left.append(set())
        reached("purge:folder-entered")
        status = self._stack.status
        if (status.inode, status.birth_ns) != (member.inode, member.birth_ns):
            raise Stopped(f"{os.fsdecode(self._shown(b''))}: another folder took its place")

    def _unlink(self, member: Member, name: bytes, status: kernel.FileStatus) -> None:
        folder_fd = self._folder_fd()
        try:
            self._witness.see(folder_fd, name, status, lambda: os.unlink(name, dir_fd=folder_fd))
        except FileNotFoundError:
            return
        except OSError as error:
            self._leave_alone(member, name, error)
            return
        self.removed_files += 1
        if status.links == 1:  # the last name: only now are its blocks free
            self.removed_bytes += status.allocated_bytes
        if self._progress is not None:
            self._progress(self.removed_files, self.removed_bytes)
        reached("purge:member-removed")

    def _leave_to(self, depth: int) -> None:
        """Leave every folder whose members have all been dealt with; a member of `depth` lies `depth` folders down."""
        while len(self._entered) > depth:
            self._leave_folder()

    def _leave_folder(self) -> None:
        assert self._stack is not None
        self._check_batch()
        empty = self._is_empty()
        self._left.pop()
        member = self._entered.pop()
        name = member.name if self._entered else places.CONTENT
        self._stack_leave()
        if not empty:
            if self._left:
                self._left[-1].add(name)
            return
        try:
            if not matches(member, kernel.statx(name, self._folder_fd())):
                self._report_mismatch(name)
                return
            os.rmdir(name, dir_fd=self._folder_fd())
        except FileNotFoundError:
            return
        except OSError as error:
            self._leave_alone(None, name, error)
            return
        self.removed_bytes += member.allocated_bytes

    def _stack_leave(self) -> None:
        assert self._stack is not None
        self._stack.leave()
        if self._stack.depth == 0:
            self._stack = None

    def _is_empty(self) -> bool:
        """Whether the folder in hand is empty; what is in no manifest is reported, once, and stays."""
        empty = True
        left = self._left[-1]
        try:
            with os.scandir(self._folder_fd()) as entries:
                for entry in entries:
                    empty = False
                    name = os.fsencode(entry.name)
                    if name not in left:
                        self._report_mismatch(name)
                    if len(self.mismatched) >= _MOST_REPORTED:
                        break
        except OSError as error:
            self._report_error(f"{os.fsdecode(self._shown(b''))}: {error.strerror}")
            return False
        return empty

    def _shown(self, name: bytes) -> bytes:
        parts = [member.name for member in self._entered[1:]]
        return b"/".join([*parts, name] if name and self._entered else parts)

    def _report_mismatch(self, name: bytes) -> None:
        if self._left:
            self._left[-1].add(name)
        if len(self.mismatched) < _MOST_REPORTED:
            self.mismatched.append(self._shown(name))

    def _leave_alone(self, member: Optional[Member], name: bytes, error: OSError) -> None:
        if self._left:
            self._left[-1].add(name)
        self._report_error(f"{os.fsdecode(self._shown(name))}: {error.strerror}")
        if member is not None:
            self._skip(member)

    def _report_error(self, text: str) -> None:
        if len(self.errors) < _MOST_REPORTED:
            self.errors.append(text)

    def _wait_for_turn(self) -> None:
        """Keep to the asked number of files per second, in slices short enough to be stopped in."""
        if not self._pace.files_per_second:
            return
        self._witness.settle()  # nobody's open shall wait while we sleep
        self._next_unlink_at = max(self._next_unlink_at, time.monotonic() - 1.0)
        while True:
            remaining = self._next_unlink_at - time.monotonic()
            if remaining <= 0:
                break
            time.sleep(min(remaining, _BATCH_SECONDS))
            self._check_stop()
        self._next_unlink_at += 1.0 / self._pace.files_per_second

    def _check_stop(self) -> None:
        if self._pace.should_stop is not None and self._pace.should_stop():
            raise Stopped("")

    def _check_batch(self) -> None:
        """Go on only while the lock is ours and the folder in hand is still below the quarantine."""
        self._check_stop()
        self._witness.settle_old()
        now = time.monotonic()
        if self._acts_left > 0 and now < self._check_again_at:
            self._acts_left -= 1
            return
        if not self._pace.still_held():
            raise Stopped("the root's lock was lost to somebody else; nothing more was removed")
        if self._stack is not None and not self._leads_up_to_holding():
            raise Stopped("a folder was moved out of the quarantine meanwhile; nothing more was removed")
        # the way up has as many steps as the folder is deep: a batch as long keeps the cost of an unlink constant
        self._acts_left = max(_BATCH_ACTS, len(self._entered))
        self._check_again_at = time.monotonic() + _BATCH_SECONDS

    def _leads_up_to_holding(self) -> bool:
        """Whether `..` of the folder in hand, as many times as it is deep, is the folder that holds the content."""
        assert self._stack is not None
        current = os.open(b".", _FOLDER, dir_fd=self._stack.descriptor)
        try:
            for _ in range(self._stack.depth):
                above = os.open(b"..", _FOLDER, dir_fd=current)
                os.close(current)
                current = above
            seen = os.fstat(current)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EACCES):
                raise
            return False
        finally:
            os.close(current)
        return (seen.st_dev, seen.st_ino) == (self._holding.device, self._holding.inode)
