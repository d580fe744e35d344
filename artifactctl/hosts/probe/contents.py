"""What stands at a path and who could be changing it: one walk, one pass over /proc, and nothing that costs more.

A removal needs all of `observing`; what a removal only rests on (a copy, a successor, an input) needs this: that its
members are there, that they are the ones that were verified, and that nobody is writing to them.
"""

from __future__ import annotations

import errno
import os
from typing import Any, Dict

from artifactctl.hosts.probe import kernel, mounts
from artifactctl.hosts.probe.digests import DigestLook
from artifactctl.hosts.probe.surveying import Survey, Target
from artifactctl.hosts.probe.walking import describe
from artifactctl.hosts.probe.writers import WriterLook

Wire = Dict[str, Any]
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR)


def look_at_contents(root: bytes, relative: bytes) -> Wire:
    """Return digests and writers of `relative` below `root` in wire form; OSError when the root cannot be opened.

    `is_there` false: nothing stands there. A link or a mount on the way is a problem, and then nothing was looked at.
    """
    seen: Wire = {"is_there": False, "is_directory": False, "problems": [], "writers": None}
    seen["fingerprint"] = seen["member_digest"] = ""
    parent_relative, _, name = relative.rpartition(b"/")
    top = os.open(root, _FOLDER)
    try:
        parent = kernel.open_beneath(top, parent_relative)
    except OSError as error:
        if error.errno not in _NOTHING_THERE:
            seen["problems"].append(describe(error, relative))
        return seen
    finally:
        os.close(top)
    try:
        _look(seen, parent, name, mounts.join(os.path.realpath(root), relative))
    finally:
        os.close(parent)
    return seen


def _look(seen: Wire, parent: int, name: bytes, location: bytes) -> None:
    try:
        status = kernel.statx(name, parent)
    except OSError as error:
        if error.errno not in _NOTHING_THERE:
            seen["problems"].append(describe(error, b""))
        return
    table = mounts.read()
    mount = mounts.of_descriptor(table, parent) or mounts.holding(table, location)
    content, writers = DigestLook(), WriterLook(location, mount)
    Survey(Target(parent, name, status, mounts.mount_points_below(location)), (content, writers)).run()
    seen.update(
        is_there=True,
        is_directory=status.is_directory,
        fingerprint=content.digests.fingerprint,
        member_digest=content.digests.member_digest,
        problems=content.problems,
        writers=writers.report(),
    )
