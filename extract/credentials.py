"""The key of a server: read from a file or a variable, shown nowhere."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import final

from artifactctl.domain.errors import UsageError

SHORTEST_HIDDEN = 8
"""A shorter key is a placeholder (`EMPTY`): hiding it would cut words out of answers."""

MASK = "[key]"
_LARGEST_FILE_BYTES = 64 * 1024
_OPEN_TO_OTHERS = 0o077


@final
class Key:
    """A key, or none. It prints as nothing, so that no message, traceback or log shows it by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Key(...)" if self._text else "Key()"

    def __bool__(self) -> bool:
        return bool(self._text)

    def headers(self) -> dict[str, str]:
        """Return the header that carries it; the only place to which it goes."""
        return {"Authorization": f"Bearer {self._text}"} if self._text else {}

    def hide(self, text: str) -> str:
        """Return the text without the key: a server may quote it in what it answers."""
        return text.replace(self._text, MASK) if len(self._text) >= SHORTEST_HIDDEN else text


NO_KEY = Key()


def chosen_key(*, file: Path | None, variable: str | None, environment: Mapping[str, str]) -> Key:
    """Return the key that --key-file or --key-env leads to, none where neither was given; UsageError."""
    if file is not None and variable is not None:
        raise UsageError("--key-file and --key-env were both given", remedy="give one of them")
    if file is not None:
        return key_of_file(file)
    return NO_KEY if variable is None else key_of_environment(variable, environment)


def key_of_file(path: Path) -> Key:
    """Return the key in a file; UsageError."""
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST_FILE_BYTES)
    except OSError as error:  # the path may be the key itself, typed into the wrong place: it is not repeated
        raise UsageError(
            f"the file named with --key-file cannot be read: {os.strerror(error.errno or 0)}",
            remedy="name a file that holds the key and nothing else",
        ) from None
    return _key(content, "the file named with --key-file")


def is_open_to_others(path: Path) -> bool:
    """Whether other accounts of the machine may read the file."""
    return bool(os.stat(path).st_mode & _OPEN_TO_OTHERS)


def key_of_environment(name: str, environment: Mapping[str, str]) -> Key:
    """Return the key in a variable; UsageError, which does not repeat the name: it may be the key itself."""
    if name not in environment:
        raise UsageError(
            "the variable named with --key-env is not set",
            remedy="name a variable that holds the key, such as OPENROUTER_API_KEY; never the key itself",
        )
    return _key(os.fsencode(environment[name]), "the variable named with --key-env")


def _key(content: bytes, where: str) -> Key:
    text = content.strip().decode("ascii", "replace")
    if not text:
        raise UsageError(f"{where} is empty", remedy="put the key there, and nothing else")
    if not all("!" <= character <= "~" and character not in '"\\' for character in text):
        raise UsageError(f"{where} holds something other than one key", remedy="put the key there, and nothing else")
    return Key(text)
