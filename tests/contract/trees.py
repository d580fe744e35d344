"""Arbitrary trees for properties: relative path -> content, with hostile names, no path being a folder of another."""

import itertools

from hypothesis import strategies

from tests.contract.workshop import Workshop

NAMES = strategies.sampled_from(
    [b"a", b"A", b"rows", b"data 1", b"-rf", b"x\n", b"caf\xe9", b"cafe\xcc\x81", b"$(id)", b"\x1b[0m", b"a-b", b"..."]
)
PATHS = strategies.lists(NAMES, min_size=1, max_size=4).map(b"/".join)


def without_clashes(tree: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Leave out files whose path is needed for a folder."""
    return {path: content for path, content in tree.items() if not any(o.startswith(path + b"/") for o in tree)}


trees = strategies.dictionaries(PATHS, strategies.binary(max_size=64), min_size=1, max_size=10).map(without_clashes)

_numbers = itertools.count(1)


def plant(workshop: Workshop, tree: dict[bytes, bytes], *, top: bytes | None = None) -> bytes:
    """Write the tree into a folder, a new one of its own unless told where, and return that folder's path."""
    place = top or workshop.top + b"/tree-%d" % next(_numbers)
    for path, content in tree.items():
        workshop.write(place + b"/" + path, content)
    return place
