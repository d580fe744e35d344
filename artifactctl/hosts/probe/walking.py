"""Read-only walks: folder listings with one lstat per name, links not followed, mounts not crossed."""

from __future__ import annotations

import os
import stat
from typing import Any, Dict, FrozenSet, Generator, Iterator, List, NamedTuple

from artifactctl.hosts.probe import folders, mounts, places
from artifactctl.hosts.probe.folders import FolderStack, MountCrossed

ENTRIES_PER_PART = 10_000
_LETTERS = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l"}

Wire = Dict[str, Any]


class Names(NamedTuple):
    """The names in a folder in byte order; `problem` is the error that ended the reading early."""

    names: List[bytes]
    problem: str


def type_letter(mode: int) -> str:
    """Return f, d, l or o for a file, folder, symbolic link or anything else."""
    return _LETTERS.get(stat.S_IFMT(mode), "o")


def sorted_names(descriptor: int) -> Names:
    """Return the names below an open folder in byte order."""
    names: List[bytes] = []
    problem = ""
    try:
        with os.scandir(descriptor) as found:
            names.extend(os.fsencode(entry.name) for entry in found)  # what came before an error stays
    except OSError as error:
        problem = describe(error, b"")
    names.sort()
    return Names(names, problem)


def describe(error: OSError, relative: bytes) -> str:
    """Return what went wrong, where, in one line of text."""
    place = os.fsdecode(relative) or "the top folder"
    return f"{place}: {error.strerror or error}"


def walk(path: bytes) -> Iterator[Wire]:
    """Yield folders in parts of at most ENTRIES_PER_PART entries; `final` marks a folder's last part.

    An entry is [name, type letter, size, allocated, inode, links, mtime ns, ctime ns, link target, atime ns].
    A file that is a mount by itself has the type letter o. What was set aside is nobody's content: the private folder
    at the top and quarantine folders beside their targets are left out. OSError when `path` cannot be looked at.
    """
    path = os.path.abspath(path)
    parent, name = folders.split_path(path)
    try:
        descriptor = folders.open_folder(path)
    except NotADirectoryError:
        yield _single(parent, name)
        return
    except OSError:
        if not os.path.islink(path):
            raise
        yield _single(parent, name)
        return
    with FolderStack(descriptor) as stack:
        yield from _descend(stack, mounts.mount_points_below(os.path.realpath(path)))


def _single(parent: bytes, name: bytes) -> Wire:
    descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        row = _row(descriptor, name)
    finally:
        os.close(descriptor)
    return _part(b"", [row], inode=row[4], allocated=0)


def _descend(stack: FolderStack, mounted: FrozenSet[bytes]) -> Iterator[Wire]:
    pending: List[Iterator[bytes]] = []
    following = yield from _read_folder(stack, mounted)
    pending.append(iter(following))
    while pending:
        name = next(pending[-1], None)
        if name is None:
            pending.pop()
            stack.leave()
            continue
        try:
            stack.enter(name)
        except MountCrossed:
            yield _part(_join(stack.relative, name), [], is_mount=True)
            continue
        except FileNotFoundError:  # removed since it was listed: it is not there
            continue
        except OSError as error:
            relative = _join(stack.relative, name)
            yield _part(relative, [], problem=describe(error, relative))
            continue
        pending.append(iter((yield from _read_folder(stack, mounted))))


def _join(relative: bytes, name: bytes) -> bytes:
    return relative + b"/" + name if relative else name


def _read_folder(stack: FolderStack, mounted: FrozenSet[bytes]) -> Generator[Wire, None, List[bytes]]:
    """Yield the parts of the deepest folder; the generator's return value is the names of its folders."""
    relative, status, descriptor = stack.relative, stack.status, stack.descriptor
    listed = sorted_names(descriptor)
    if stack.depth == 1 and places.PRIVATE in listed.names:
        listed.names.remove(places.PRIVATE)
    inside: List[bytes] = []
    rows: List[List[Any]] = []
    problem = listed.problem and f"{os.fsdecode(relative)}: {listed.problem}"
    for name in listed.names:
        if len(rows) >= ENTRIES_PER_PART:
            yield _part(relative, rows, inode=status.inode, allocated=status.allocated_bytes, final=False)
            rows = []
        try:
            row = _row(descriptor, name)
        except FileNotFoundError:
            continue
        except OSError as error:
            problem = problem or describe(error, _join(relative, name))
            continue
        if row[1] == "d":
            if places.is_sibling_folder(name):
                continue
            inside.append(name)
        elif mounted and _join(relative, name) in mounted:
            row[1] = "o"
        rows.append(row)
    yield _part(relative, rows, inode=status.inode, allocated=status.allocated_bytes, problem=problem)
    return inside


def _row(descriptor: int, name: bytes) -> List[Any]:
    seen = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    letter = type_letter(seen.st_mode)
    target = os.fsdecode(os.readlink(name, dir_fd=descriptor)) if letter == "l" else ""
    return [
        os.fsdecode(name),
        letter,
        seen.st_size,
        seen.st_blocks * 512,
        seen.st_ino,
        seen.st_nlink,
        seen.st_mtime_ns,
        seen.st_ctime_ns,
        target,
        seen.st_atime_ns,
    ]


def _part(
    relative: bytes,
    rows: List[List[Any]],
    *,
    inode: int = 0,
    allocated: int = 0,
    problem: str = "",
    is_mount: bool = False,
    final: bool = True,
) -> Wire:
    return {
        "relative": os.fsdecode(relative),
        "entries": rows,
        "allocated_bytes": allocated,
        "inode": inode,
        "problem": problem,
        "is_mount": is_mount,
        "final": final,
    }
