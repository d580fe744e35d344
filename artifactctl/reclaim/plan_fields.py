"""Typed fields of a plan file: ValueError names the one that is of another type, KeyError the one that is missing."""

from collections.abc import Mapping

Json = Mapping[str, object]


def text_in(item: Json, key: str) -> str:
    """Return a text."""
    value = item[key]
    if not isinstance(value, str):
        raise ValueError(f"`{key}` must be text")
    return value


def number_in(item: Json, key: str) -> int:
    """Return a whole number."""
    value = item[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"`{key}` must be a whole number")
    return value


def number_or_none_in(item: Json, key: str) -> int | None:
    """Return a whole number, or None where the file says null."""
    return None if item[key] is None else number_in(item, key)


def flag_in(item: Json, key: str) -> bool:
    """Return true or false."""
    value = item[key]
    if not isinstance(value, bool):
        raise ValueError(f"`{key}` must be true or false")
    return value


def list_in(item: Json, key: str) -> list[object]:
    """Return a list."""
    value = item[key]
    if not isinstance(value, list):
        raise ValueError(f"`{key}` must be a list")
    return value
