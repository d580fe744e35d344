"""Patterns of ssh_config and known_hosts: `*`, `?` and a `!` in front, nothing else."""

import re
from collections.abc import Iterable
from functools import cache


def matches_list(name: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern matches and none that begins with `!` does."""
    found = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if _expression(pattern[1:]).fullmatch(name):
                return False
        elif _expression(pattern).fullmatch(name):
            found = True
    return found


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(sign, re.escape(sign)) for sign in pattern), re.DOTALL)
