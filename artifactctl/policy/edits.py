"""What was written differently between two policies: sections and entries by name, field by field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from artifactctl.policy.ruleset import Policy
from artifactctl.policy.written_form import written_form


class Mark(StrEnum):
    """What became of an entry."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One difference: `section` is rules, protect, limits or defaults; `name` the entry's, or the field's."""

    section: str
    mark: Mark
    name: str
    what: str = ""


def edits_between(old: Policy, new: Policy) -> tuple[Edit, ...]:
    """Return every difference that decides something; descriptions, reasons and places are left out."""
    before, after = written_form(old), written_form(new)
    found: list[Edit] = []
    for section in ("protect", "rules"):
        found += _entries(section, before.get(section, []), after.get(section, []))
    for section in ("defaults", "limits"):
        for path, was, becomes in _fields(before.get(section, {}), after.get(section, {})):
            found.append(Edit(section=section, mark=Mark.CHANGED, name=path, what=f"{was} -> {becomes}"))
    return tuple(found)


def additions(written: Policy, standing: Policy) -> tuple[Edit, ...]:
    """Return the protects, limits and waiting times of a policy that what was `written` does not say so."""
    found = [
        Edit(section="protect", mark=Mark.ADDED, name=protect.name, what=str(protect.place or protect.reason))
        for protect in standing.protects
        if protect not in written.protects
    ]
    before, after = written_form(written), written_form(standing)
    for section in ("defaults", "limits"):
        for path, _, becomes in _fields(before.get(section, {}), after.get(section, {})):
            found.append(Edit(section=section, mark=Mark.ADDED, name=path, what=becomes))
    return tuple(found)


def _entries(section: str, before: list[Any], after: list[Any]) -> Iterator[Edit]:
    old, new = ({entry["name"]: entry for entry in entries} for entries in (before, after))
    yield from (Edit(section=section, mark=Mark.REMOVED, name=name, what="REMOVED") for name in old if name not in new)
    for name, entry in new.items():
        if name not in old:
            yield Edit(section=section, mark=Mark.ADDED, name=name)
        elif changes := [f"{path} {was} -> {becomes}" for path, was, becomes in _fields(old[name], entry)]:
            yield Edit(section=section, mark=Mark.CHANGED, name=name, what=", ".join(changes))
    if section == "rules" and [name for name in old if name in new] != [name for name in new if name in old]:
        yield Edit(section=section, mark=Mark.CHANGED, name="order", what=f"now {', '.join(new)}")


def _fields(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (path, was, becomes) of every field that differs; `nothing` where it is not said."""
    for key in sorted({*before, *after} - {"description", "reason"}):
        was, becomes = before.get(key), after.get(key)
        if was == becomes:
            continue
        if isinstance(was, Mapping) and isinstance(becomes, Mapping):
            yield from _fields(was, becomes, f"{path}{key}.")
        else:
            yield f"{path}{key}", _spelt(was), _spelt(becomes)


def _spelt(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_spelt, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_spelt(item)}' for key, item in value.items())}}}"
    return str(value)
