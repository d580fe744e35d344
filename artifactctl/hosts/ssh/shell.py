"""Command lines that every login shell takes: sh, bash, zsh, fish and csh read quotes in different ways.

What is to run is a script for /bin/sh. Everything in it but plain letters travels as octal escapes inside one pair of
single quotes, which all of them leave alone; /bin/sh then turns it back with its own printf and runs it.
"""

import re
import shlex

_PLAIN = re.compile(rb"[A-Za-z0-9 _./:=,-]")


def for_any_shell(script: str | bytes) -> str:
    """Return the command line that makes any login shell run the script. NUL cannot travel: ValueError."""
    raw = script.encode("utf-8", "surrogateescape") if isinstance(script, str) else script
    if b"\0" in raw:
        raise ValueError("a script cannot hold a NUL byte")
    return f'exec /bin/sh -c \'eval "$(printf "{_escaped(raw)}")"\''


def word(value: str | bytes) -> str:
    """Return one word of a /bin/sh script, whatever bytes it holds; as text, undecodable bytes as surrogates."""
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    return shlex.quote(text)


def _escaped(raw: bytes) -> str:
    return "".join(chr(byte) if _PLAIN.match(bytes((byte,))) else f"\\{byte:03o}" for byte in raw)
