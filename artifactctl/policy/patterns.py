"""Patterns for names, paths, tags and label values; the same answer in every locale."""

import re
from collections.abc import Callable
from functools import lru_cache

_PART = re.compile(r"\*\*|\*|\?|[^*?]+")
_MEANING = {"**": ".*", "*": "[^/]*", "?": "[^/]"}


@lru_cache(maxsize=4096)
def matcher_of(pattern: str) -> Callable[[str], bool]:
    """Return a test of a whole text: `*` anything but `/`, `**` anything, `?` one character but `/`, else itself."""
    compiled = re.compile("".join(_MEANING.get(part) or re.escape(part) for part in _PART.findall(pattern)), re.DOTALL)
    return lambda text: compiled.fullmatch(text) is not None


def any_of(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a test that holds when one of the patterns does."""
    plain = frozenset(pattern for pattern in patterns if not set(pattern) & {"*", "?"})
    globs = tuple(matcher_of(pattern) for pattern in patterns if pattern not in plain)
    return lambda text: text in plain or any(glob(text) for glob in globs)
