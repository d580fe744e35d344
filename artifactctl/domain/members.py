"""The members of an artifact as a sequence: their digest, and how two such sequences differ.

A member is (path relative to the artifact, type letter f, l or o, size in bytes); folders are none. Sequences are in
`member_order`. An artifact that is a single file has one member whose path is empty.
"""

import hashlib
from collections.abc import Iterable, Iterator

from artifactctl.domain.identity import member_order
from artifactctl.domain.observation import MemberDrift

Member = tuple[bytes, str, int]
MOST_EXAMPLES = 10


def member_digest(members: Iterable[Member]) -> str:
    """Return the SHA-256 in hex over path, NUL, type letter, NUL, size in decimal, newline of each member."""
    together = hashlib.sha256()
    for relative, letter, size_bytes in members:
        together.update(b"%b\0%b\0%d\n" % (relative, letter.encode("ascii"), size_bytes))
    return together.hexdigest()


def compare_members(catalogued: Iterable[Member], seen: Iterable[Member]) -> MemberDrift:
    """Return how `seen` differs from `catalogued`; both in `member_order`, read once, never held in memory.

    A member whose type changed counts as missing and as a stray.
    """
    strays, missing, resized = _Examples(), _Examples(), _Resizes()
    for before, after in _pairs(catalogued, seen):
        if before is not None and after is not None and before[1] == after[1]:
            if before[2] != after[2]:
                resized.add(before[0], before[2], after[2])
            continue
        if before is not None:
            missing.add(before[0])
        if after is not None:
            strays.add(after[0])
    return MemberDrift(
        strays=strays.count,
        missing=missing.count,
        resized=resized.count,
        stray_examples=tuple(strays.first),
        missing_examples=tuple(missing.first),
        resized_examples=tuple(resized.first),
    )


def _pairs(left: Iterable[Member], right: Iterable[Member]) -> Iterator[tuple[Member | None, Member | None]]:
    """Merge two ordered sequences by path; None where one has no such path."""
    lefts, rights = _ordered(left), _ordered(right)
    before, after = next(lefts, None), next(rights, None)
    while before is not None or after is not None:
        if after is None or (before is not None and member_order(before[0]) < member_order(after[0])):
            yield before, None
            before = next(lefts, None)
        elif before is None or member_order(after[0]) < member_order(before[0]):
            yield None, after
            after = next(rights, None)
        else:
            yield before, after
            before, after = next(lefts, None), next(rights, None)


def _ordered(members: Iterable[Member]) -> Iterator[Member]:
    """Pass members on; ValueError at the first that is not after its predecessor."""
    last: list[bytes] | None = None
    for member in members:
        key = member_order(member[0])
        if last is not None and key <= last:
            raise ValueError(f"{member[0]!r} is not in member order")
        last = key
        yield member


class _Examples:
    def __init__(self) -> None:
        self.count = 0
        self.first: list[bytes] = []

    def add(self, relative: bytes) -> None:
        self.count += 1
        if len(self.first) < MOST_EXAMPLES:
            self.first.append(relative)


class _Resizes:
    def __init__(self) -> None:
        self.count = 0
        self.first: list[tuple[bytes, int, int]] = []

    def add(self, relative: bytes, before_bytes: int, after_bytes: int) -> None:
        self.count += 1
        if len(self.first) < MOST_EXAMPLES:
            self.first.append((relative, before_bytes, after_bytes))
