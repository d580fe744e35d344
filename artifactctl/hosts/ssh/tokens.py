"""Percent signs in the values of ssh_config."""

import re
from collections.abc import Mapping

from artifactctl.hosts.ssh.failures import ConfigProblem

_TOKEN = re.compile(r"%(.?)")


def expand(value: str, tokens: Mapping[str, str], place: str) -> str:
    """Return the value with `%h` and the like replaced; ConfigProblem for one that means nothing here."""

    def replacement(found: re.Match[str]) -> str:
        letter = found[1]
        if letter == "%":
            return "%"
        if letter not in tokens:
            raise ConfigProblem(
                f"{place}: artifactctl does not know `%{letter}`", remedy="write out what it stands for"
            )
        return tokens[letter]

    return _TOKEN.sub(replacement, value)
