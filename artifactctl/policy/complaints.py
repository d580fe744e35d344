"""What the models object to, as findings at the place of the key or item, in words that say what to write."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError

from artifactctl.domain.suggestions import did_you_mean
from artifactctl.policy import words
from artifactctl.policy.documents import Document, Path
from artifactctl.policy.findings import Code, Finding, finding
from artifactctl.policy.schema import keys_at, policy_schema

_NOTHING_THERE = "`{key}` has nothing behind it; give it a value or remove the key"

_LIKE_THIS = {
    "tags": "{any: [released]}",
    "labels": "{corpus: c1}",
    "last": "{n: 2, group_by: [run]}",
    "best": "{n: 3, metric: eval/acceptance_len, mode: max, group_by: [run]}",
    "every": "{steps: 5000}",
    "needed_by": "{relation: mapped_with}",
    "successor": "{relation: supersedes}",
    "match": "{kind: checkpoint}",
    "keep": "{newer_than: 14d}",
    "require": "{min_copies: 1}",
    "per_day": "{max_bytes: 40TiB}",
    "limits": "{max_bytes: 5TiB, max_artifacts: 200}",
    "defaults": "{quarantine: 7d}",
    "expect": "{decision: keep}",
}
"""How a mapping is written, by its key; `expect` stands for each of those in it."""

_MAPPING_WANTED = ("dict_type", "model_type")

_WORDING: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "missing": lambda key, _: f"`{key}` is missing here",
    "string_type": lambda key, _: f"`{key}` must be text; put it in quotes",
    "string_too_short": lambda key, facts: f"`{key}` needs at least {facts['min_length']} characters",
    "string_too_long": lambda key, facts: f"`{key}` has more than {facts['max_length']} characters",
    "string_pattern_mismatch": lambda key, facts: (
        f"`{key}` may hold letters, digits, `.`, `_` and `-` only"
        if facts["pattern"] == words.NAME_PATTERN
        else f"`{key}` must be one line"
    ),
    "int_type": lambda key, _: f"`{key}` must be a whole number, without quotes",
    "float_type": lambda key, _: f"`{key}` must be a number, without quotes",
    "bool_type": lambda key, _: f"`{key}` must be true or false",
    "tuple_type": lambda key, _: f"`{key}` must be a list",
    "too_short": lambda key, _: f"`{key}` is an empty list or mapping; name something or remove the key",
    "greater_than_equal": lambda key, facts: f"`{key}` must be at least {facts['ge']}",
    "literal_error": lambda key, facts: f"`{key}` must be {facts['expected']}",
}


def _like_this(path: Path) -> str:
    key = "expect" if path[-2:-1] == ("expect",) else _shown(path)
    return f", such as `{_shown(path)}: {_LIKE_THIS[key]}`" if key in _LIKE_THIS else ""


def findings_of(error: ValidationError, document: Document) -> tuple[Finding, ...]:
    """Return one finding for each thing the models refused in the document."""
    return tuple(
        _finding(item, document) for item in error.errors(include_url=False) if not _only_follows(item, document)
    )


def _only_follows(error: Any, document: Document) -> bool:
    """Whether a list is called too short only because nothing in it could be read, which is said already."""
    return error["type"] == "too_short" and bool(_value_at(document.data, error["loc"]))


def emptiness(document: Document) -> Iterable[Finding]:
    """Yield a finding for every key with nothing behind it: `keep:` over a commented-out block would keep nothing."""
    for path, place in document.places.items():
        if path and _value_at(document.data, path) is None:
            yield finding(place, Code.SCHEMA, _NOTHING_THERE.format(key=_shown(path)))


def _finding(error: Any, document: Document) -> Finding:
    path: Path = tuple(step for step in error["loc"] if step != "[key]")
    kind = error["type"]
    if kind == "extra_forbidden":
        return _unknown_key(path, document)
    if kind == "missing" and path == ("limits",):
        message = "`limits` is missing: say how much one run may take (max_bytes, max_artifacts)"
        return finding(document.place(path[:-1]), Code.LIMITS, message)
    code = Code.UNIT if kind == words.UNIT else Code.SCHEMA
    wording = _WORDING.get(kind)
    message = wording(_shown(path), error.get("ctx", {})) if wording else error["msg"]
    if kind in _MAPPING_WANTED:
        message = f"`{_shown(path)}` must be a mapping of keys to values{_like_this(path)}"
    if kind in (words.UNIT, words.WORD) and path:
        message = f"{_shown(path)}: {message}"
    return finding(document.place(path), code, message)


def _unknown_key(path: Path, document: Document) -> Finding:
    code = Code.FIXTURE if path[0] == "tests" else Code.SCHEMA
    known = keys_at(_schema(), path[:-1])
    taken = _value_at(document.data, path[:-1])
    free = [key for key in known if key not in taken] or known
    return finding(document.place(path), code, f"unknown key `{path[-1]}`; {did_you_mean(str(path[-1]), free)}")


def _shown(path: Path) -> str:
    """Return the last key of the path, with the item's number where it is one of a list."""
    keys = [step for step in path if isinstance(step, str)]
    return keys[-1] if keys else "a policy file"


def _value_at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


@cache
def _schema() -> Mapping[str, Any]:
    return policy_schema()
