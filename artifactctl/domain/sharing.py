"""Inodes with several names: whose bytes come free with whom."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedInode:
    """A file of which a tree holds `names_inside` of its `links` names. Inode numbers are those of one filesystem."""

    inode: int
    birth_ns: int | None
    names_inside: int
    links: int
    allocated_bytes: int


def freed_with_the_last_name(trees: Sequence[Sequence[SharedInode]]) -> tuple[int, ...]:
    """Return for each tree what it frees besides its own bytes when they are removed one after the other.

    Bytes that several of them share are counted once, with the tree that takes the last name; those with a name that
    is in none of them are not counted.
    """
    names_left: dict[tuple[int, int | None], int] = {}
    freed = []
    for tree in trees:
        here = 0
        for shared in tree:
            key = (shared.inode, shared.birth_ns)
            names_left[key] = names_left.get(key, shared.links) - shared.names_inside
            here += shared.allocated_bytes if names_left[key] == 0 else 0
        freed.append(here)
    return tuple(freed)
