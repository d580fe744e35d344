"""What a purge that has begun must leave alone: what no manifest lists, and what is not as its manifest says.

The tree is compared with the manifest as both come, in depth-first byte order, so memory does not grow with either.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

from artifactctl.hosts.probe import ledger, manifest, membership, places
from artifactctl.hosts.probe.fingerprint import PathByDepth
from artifactctl.hosts.probe.manifest import Member
from artifactctl.hosts.probe.operation import Known, open_operation_folder, open_sibling
from artifactctl.hosts.probe.rootfolder import RootFolder, closing

Wire = Dict[str, Any]
MOST_NAMED = 1000
_Placed = Tuple[List[bytes], Member]


def left_in_purge(root: RootFolder, name: str) -> Wire:
    """Return where the content lies and what of it is not ours to remove; an unreadable tree is a `problem`.

    `paths` are relative to the content, surrogate-escaped; of a strange folder only its top is named.
    """
    known = ledger.find(root, name)
    content, _ = ledger.lies_at(root, name)
    answer: Wire = {"content": os.fsdecode(content), "paths": [], "count": 0, "problem": ""}
    folder_fd, _ = open_operation_folder(root, places.operation_folder(name))
    with closing(folder_fd), closing(_holding(root, known, folder_fd)) as holding_fd:
        try:
            for path in _strange(_present(holding_fd), _placed(manifest.read(folder_fd, name))):
                answer["count"] += 1
                if len(answer["paths"]) < MOST_NAMED:
                    answer["paths"].append(os.fsdecode(b"/".join(path)))
        except FileNotFoundError:  # the content itself has gone
            return answer
        except OSError as error:
            answer["problem"] = f"{os.fsdecode(error.filename or b'')}: {error.strerror}"
    return answer


def _holding(root: RootFolder, known: Known, folder_fd: int) -> int:
    try:
        return open_sibling(root, known) if known.intent["sibling"] else os.dup(folder_fd)
    except FileNotFoundError:  # the sibling folder went with the content
        return os.dup(folder_fd)


def _present(holding_fd: int) -> Iterator[_Placed]:
    yield from _placed(membership.members(holding_fd, places.CONTENT))


def _placed(members: Iterator[Member]) -> Iterator[_Placed]:
    paths = PathByDepth()
    for member in members:
        path = paths.path(member.depth, member.name)
        yield (path.split(b"/") if path else []), member


def _strange(present: Iterator[_Placed], listed: Iterator[_Placed]) -> Iterator[List[bytes]]:
    """Yield what is present and not listed so, leaving out what lies below something already yielded."""
    strange: Optional[List[bytes]] = None
    entry = next(listed, None)
    for path, found in present:
        if strange is not None and path[: len(strange)] == strange:
            continue
        while entry is not None and entry[0] < path:
            entry = next(listed, None)
        if entry is None or entry[0] != path or not manifest.agrees(entry[1], found):
            yield path
            strange = path
