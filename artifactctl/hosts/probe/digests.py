"""The two digests of a tree.

fingerprint: see `fingerprint`.

member_digest: SHA-256 over path, NUL, type letter, NUL, size in decimal, newline, of everything that is no folder.
"""

from __future__ import annotations

import hashlib
import os
from typing import List

from artifactctl.hosts.probe import fingerprint, kernel
from artifactctl.hosts.probe.surveying import Sighted, Visitor
from artifactctl.hosts.probe.walking import type_letter


class TreeDigests:
    """Takes members in member order."""

    def __init__(self) -> None:
        self._fingerprint = hashlib.sha256()
        self._members = hashlib.sha256()

    def add(self, relative: bytes, letter: str, status: kernel.FileStatus) -> None:
        """Take the next entry; `letter` is that of `walking.type_letter`."""
        times = {"modified_ns": status.modified_ns, "changed_ns": status.changed_ns}
        self._fingerprint.update(fingerprint.record(relative, letter, status.inode, status.size, **times))
        if letter != "d":
            self._members.update(b"%b\0%b\0%d\n" % (relative, letter.encode(), status.size))

    @property
    def fingerprint(self) -> str:
        """In hex."""
        return self._fingerprint.hexdigest()

    @property
    def member_digest(self) -> str:
        """In hex."""
        return self._members.hexdigest()


class DigestLook(Visitor):
    """The digests of a survey and what kept it from being whole; nothing else is measured."""

    def __init__(self) -> None:
        self.digests = TreeDigests()
        self.problems: List[str] = []

    def entry(self, seen: Sighted) -> None:
        self.digests.add(seen.relative, type_letter(seen.status.mode), seen.status)

    def mounted(self, relative: bytes) -> None:
        self.problems.append(mounted_here(relative))

    def problem(self, text: str) -> None:
        self.problems.append(text)


def mounted_here(relative: bytes) -> str:
    """Return the problem of a place below which something else is mounted."""
    return f"{os.fsdecode(relative) or 'the top folder'}: something is mounted here"
