"""Paths and names as text: for people, for a shell, for a database or file that takes UTF-8 only.

No control character reaches a terminal and no byte is lost silently. The probe, which is sent to other machines by
itself, has a way of its own (`rootfolder.printable`).
"""

import shlex


def display_path(path: bytes) -> str:
    """Return the path as text; bytes that are not UTF-8 and control characters are written as escapes."""
    return printable(path.decode("utf-8", "surrogateescape"))


def printable(text: str) -> str:
    """Return the text with control characters and undecodable bytes as `\\xNN` (or `\\n`, `\\t`) escapes."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def shown_path(machine: str, path: bytes) -> str:
    """Return a path for people as they would type it: with its machine in front unless that is "", this one."""
    return f"{printable(machine)}:{display_path(path)}" if machine else display_path(path)


def shell_word(path: bytes) -> str:
    """Return the path as one word that can be pasted into bash or zsh."""
    text = path.decode("utf-8", "surrogateescape")
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_escaped(c) if c not in "'\\" else "\\" + c for c in text) + "'"


def encodable(text: str) -> str:
    r"""Return text that UTF-8 can hold: bytes that were not UTF-8 are written out as `\udcXX`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable(text: str) -> str:
    r"""Return text that any database takes: `encodable`, and NUL as `\x00`."""
    return encodable(text).replace("\0", "\\x00")


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")
