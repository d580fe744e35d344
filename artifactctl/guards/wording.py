"""How guards show names and counts in their one-sentence reasons."""

from collections.abc import Sequence


def first_of(names: Sequence[str], *, most: int = 3) -> str:
    """Return the first few names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 file`, `3 files`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
