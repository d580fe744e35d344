"""Space of filesystems: statvfs, asked in a process of its own where the answer may never come."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from artifactctl.hosts.probe import filesystems, limits, mounts

Wire = Dict[str, Any]
ANSWER_SECONDS = 5.0
_CHILD = (
    "import json,os,sys\n"
    "p=sys.argv[1]\n"
    "v=os.statvfs(p)\n"
    "print(json.dumps([v.f_frsize,v.f_blocks,v.f_bfree,v.f_bavail,v.f_files,v.f_favail,v.f_flag]))\n"
)


class Space(NamedTuple):
    """The fields of statvfs that matter, in their own units (blocks of `f_frsize` bytes)."""

    f_frsize: int
    f_blocks: int
    f_bfree: int
    f_bavail: int
    f_files: int
    f_favail: int
    f_flag: int


class Question(NamedTuple):
    """A child process that may hang in statvfs, and the pipe its answer comes through."""

    process: int
    pipe: int


def space_of(path: bytes) -> Space:
    """Ask in this process: for local filesystems only."""
    seen = os.statvfs(path)
    return Space(seen.f_frsize, seen.f_blocks, seen.f_bfree, seen.f_bavail, seen.f_files, seen.f_favail, seen.f_flag)


def ask(path: bytes) -> Question:
    """Start asking for the space of `path` in a child process."""
    reading, writing = os.pipe()
    try:
        process = os.posix_spawn(
            sys.executable or "/usr/bin/python3",
            [os.fsencode(sys.executable or "python3"), b"-I", b"-S", b"-c", _CHILD.encode(), path],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
            ],
        )
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return Question(process, reading)


def answer(question: Question, deadline: float) -> Space:
    """Return the answer; TimeoutError after `deadline` (monotonic seconds), OSError when the child failed.

    A child that sleeps in the kernel cannot be killed at once; it is left for init to reap.
    """
    chunks: List[bytes] = []
    try:
        while select.select([question.pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = os.read(question.pipe, 4096)
            if not chunk:
                return _parse(b"".join(chunks), question.process)
            chunks.append(chunk)
    finally:
        os.close(question.pipe)
    _abandon(question.process)
    raise TimeoutError(errno.ETIMEDOUT, "the filesystem does not answer")


def _parse(content: bytes, process: int) -> Space:
    _, status = os.waitpid(process, 0)
    if status != 0 or not content:
        raise OSError(errno.EIO, "the filesystem answered with an error")
    return Space(*json.loads(content))


def _abandon(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    for _ in range(20):
        if os.waitpid(process, os.WNOHANG)[0]:
            return
        time.sleep(0.005)


def usage(path: bytes) -> Wire:
    """Return the space of the filesystem that holds `path`, with its limits; OSError or TimeoutError."""
    table = mounts.visible(mounts.read())
    lexical = mounts.holding(table, os.path.abspath(path))
    if lexical is not None and lexical.is_remote:
        return _describe(lexical, answer(ask(path), time.monotonic() + ANSWER_SECONDS), None, path=path)
    descriptor = _open_near(path)
    try:
        mount = mounts.of_descriptor(mounts.read(), descriptor) or mounts.holding(table, os.path.realpath(path))
        if mount is not None and mount.is_remote:
            return _describe(mount, answer(ask(path), time.monotonic() + ANSWER_SECONDS), None, path=path)
        if mount is None:
            raise OSError(errno.ENODEV, "no mount is known that holds it", os.fsdecode(path))
        return _describe(mount, space_of(path), descriptor, path=path)
    finally:
        os.close(descriptor)


def _open_near(path: bytes) -> int:
    """Open `path`, or the nearest folder above it that can be opened for reading."""
    current = os.path.realpath(path)
    if not os.path.isdir(current):
        os.lstat(current)
        current = os.path.dirname(current)
    while True:
        try:
            return os.open(current, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except PermissionError:
            if current == b"/":
                raise
            current = os.path.dirname(current)


def _describe(mount: mounts.Mount, space: Space, descriptor: Optional[int], *, path: bytes) -> Wire:
    uuid = filesystems.identify(descriptor, mount) if descriptor is not None else filesystems.of_network(mount)
    block = space.f_frsize
    used = (space.f_blocks - space.f_bfree) * block
    found = limits.limits_of(mount, descriptor, uuid, used, path=path)
    if space.f_files:
        found.append(limits.limit("inodes", None, available_inodes=space.f_favail))
    return {
        "mount": os.fsdecode(mount.point),
        "filesystem_uuid": uuid,
        "filesystem_type": mount.type,
        "device": mount.source,
        "size_bytes": space.f_blocks * block,
        "used_bytes": used,
        "free_bytes": space.f_bfree * block,
        "available_bytes": space.f_bavail * block,
        "total_inodes": space.f_files,
        "available_inodes": space.f_favail,
        "block_bytes": block,
        "read_only": mount.is_read_only or bool(space.f_flag & os.ST_RDONLY),
        "limits": found,
        "is_network": mount.is_shared,
        "thin_or_sparse": limits.is_thin(mount, found),
    }


def mounted_volumes() -> List[Wire]:
    """Return every filesystem for storing once, by its shortest root; one that fails or is silent is left out."""
    chosen = _one_each(mounts.visible(mounts.read()))
    questions = {mount.point: ask(mount.point) for mount in chosen if mount.is_remote}
    deadline = time.monotonic() + ANSWER_SECONDS
    found = []
    for mount in chosen:
        try:
            if mount.point in questions:
                found.append(_describe(mount, answer(questions[mount.point], deadline), None, path=mount.point))
                continue
            found.append(_local(mount))
        except OSError:  # left out by contract: not answering, or not ours to look at
            continue
    return [volume for volume in found if volume["size_bytes"]]


def _local(mount: mounts.Mount) -> Wire:
    descriptor = os.open(mount.point, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _describe(mount, space_of(mount.point), descriptor, path=mount.point)
    finally:
        os.close(descriptor)


def _one_each(table: Sequence[mounts.Mount]) -> List[mounts.Mount]:
    best: Dict[str, mounts.Mount] = {}
    for mount in table:
        if not mount.is_for_storing:
            continue
        known = best.get(mount.device)
        if known is None or (len(mount.root), len(mount.point)) < (len(known.root), len(known.point)):
            best[mount.device] = mount
    return sorted(best.values(), key=lambda mount: mount.point)


def settle(path: bytes, target_available_bytes: Optional[int], deadline_seconds: float) -> Wire:
    """syncfs, then poll until `available_bytes` reaches the target (None: stands still) or the deadline passes.

    xfs and btrfs give blocks back some time after the unlink, and after the syncfs.
    """
    deadline = time.monotonic() + deadline_seconds
    descriptor = _open_near(path)
    try:
        limits.flush(descriptor)
        before = -1
        while True:
            space = os.fstatvfs(descriptor)
            available = space.f_bavail * space.f_frsize
            reached = available == before if target_available_bytes is None else available >= target_available_bytes
            if reached or time.monotonic() >= deadline:
                return usage(path)
            before = available
            time.sleep(0.05)
    finally:
        os.close(descriptor)
