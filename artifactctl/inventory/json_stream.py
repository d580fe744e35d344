"""The top-level fields of a large JSON object one after the other, lists element by element, however it is laid out.

Held are one element and the text around it, never the document.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

_FIRST_READ = 1 << 20
_SPACE = " \t\r\n"
_CUT = "it ends too early"


class NotJson(ValueError):
    """The text is not one JSON object."""


def fields(read: Callable[[int], str]) -> Iterator[tuple[str, Any, bool]]:
    """Yield (field, value, False), and for a list (field, element, True) each; `read(n)` gives up to n characters.

    NotJson where the text is something else, ends too early or goes on. An empty list yields (field, None, True) once.
    """
    text = _Text(read)
    text.expect("{")
    if not text.take("}"):
        while True:
            name = text.value()
            if not isinstance(name, str):
                text.refuse()
            text.expect(":")
            if text.take("["):
                yield from ((name, element, True) for element in _elements(text))
            else:
                yield name, text.value(), False
            if not text.take(","):
                break
        text.expect("}")
    if text.peek():
        text.refuse()


def _elements(text: "_Text") -> Iterator[Any]:
    if text.take("]"):
        yield None
        return
    yield text.value()
    while text.take(","):
        yield text.value()
    text.expect("]")


class _Text:
    """What was read and not yet taken."""

    def __init__(self, read: Callable[[int], str]) -> None:
        self._read = read
        self._buffer = ""
        self._position = 0
        self._taken = 0
        self._ended = False
        self._decode = json.JSONDecoder(parse_constant=self._refuse_constant).raw_decode

    def peek(self) -> str:
        """Return the next character that is no white space, "" at the end."""
        while True:
            while self._position < len(self._buffer):
                if self._buffer[self._position] not in _SPACE:
                    return self._buffer[self._position]
                self._position += 1
            if self._ended:
                return ""
            self._more(_FIRST_READ)

    def take(self, character: str) -> bool:
        """Go past the character if it is the next one."""
        if self.peek() != character:
            return False
        self._position += 1
        return True

    def expect(self, character: str) -> None:
        """Go past the character; NotJson when another one comes."""
        if not self.take(character):
            self.refuse()

    def value(self) -> Any:
        """Return the next JSON value."""
        self.peek()
        wanted = _FIRST_READ
        while True:
            try:
                value, end = self._decode(self._buffer, self._position)
            except RecursionError as error:
                raise self._error() from error
            except json.JSONDecodeError as error:
                if self._ended:
                    cut = error.msg.startswith("Unterminated") or error.pos >= len(self._buffer.rstrip(_SPACE))
                    raise (NotJson(_CUT) if cut else self._error()) from error
            else:
                if end < len(self._buffer) or self._ended:  # else a number may go on
                    self._position = end
                    return value
            self._more(wanted)
            wanted *= 2

    def refuse(self) -> NoReturn:
        """Raise NotJson."""
        raise self._error()

    def _more(self, characters: int) -> None:
        self._taken += self._position
        read = self._read(characters)
        self._ended = not read
        self._buffer, self._position = self._buffer[self._position :] + read, 0

    def _error(self) -> NotJson:
        if self._ended and self._position >= len(self._buffer.rstrip()):
            return NotJson(_CUT)
        return NotJson(f"it is not JSON at character {self._taken + self._position + 1:,}")

    def _refuse_constant(self, word: str) -> NoReturn:
        raise NotJson(f"{word} is no number")
