"""The machine-readable side: one object a command, its schema first, numbers as numbers."""

import base64
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def schema_of(what: str) -> str:
    """Return the schema name of an answer, such as `artifactctl.ls/1`."""
    return f"artifactctl.{what}/1"


def dump(what: str, payload: Mapping[str, Any], *, indent: int | None = 2) -> str:
    """Return the answer as JSON text, `schema` first.

    Text stays UTF-8 where it is; what is not (surrogate-escaped bytes of a path) becomes a `\\udcXX` escape, so that
    the result can always be encoded.
    """
    return dump_value({"schema": schema_of(what), **payload}, indent=indent)


def dump_value(value: object, *, indent: int | None = None) -> str:
    """Return any value as JSON text that can always be encoded; on one line unless indented."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def json_path(path: bytes | None, *, key: str = "path") -> dict[str, str | None]:
    """Return `{key: text}`, with `<key>_b64` beside it when the bytes are not UTF-8."""
    if path is None:
        return {key: None}
    text = path.decode("utf-8", "surrogateescape")
    fields: dict[str, str | None] = {key: text}
    if _SURROGATE.search(text):
        fields[f"{key}_b64"] = base64.b64encode(path).decode("ascii")
    return fields


def rfc3339(at: datetime) -> str:
    """Return an instant as RFC 3339 in UTC with `Z`; fractions of a second only where there are any."""
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone")
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, timedelta):
        raise TypeError("a duration is a number of seconds in a field that ends in _seconds")
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{type(value).__name__} has no form in JSON; use json_path for paths")
