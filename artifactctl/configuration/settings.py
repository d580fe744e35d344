"""`artifactctl.toml`: found upward from the working directory, else in the user's configuration folder.

A key in the project's file beats the same key in the user's. Keys nobody knows are refused with the place and the
nearest known one: a misspelled limit must not silently be none.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from artifactctl.configuration.limits import LIMIT_PARSERS
from artifactctl.domain.errors import UsageError

FILE_NAME = "artifactctl.toml"

KNOWN_KEYS: Mapping[str, tuple[str, ...]] = {
    "catalog": ("location",),
    "defaults": ("color", "format", "model", "volume"),
    "policy": ("files", *LIMIT_PARSERS),
    "notify": (),
}


class SettingsProblem(UsageError):
    """A configuration file cannot be used as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value and where it stands (`FILE:LINE`)."""

    value: Any
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the configuration files say, by `table.key`."""

    values: Mapping[str, Setting] = field(default_factory=dict)

    def text(self, key: str) -> str | None:
        """Return the value of a key that holds text, None when no file sets it."""
        setting = self.values.get(key)
        if setting is None:
            return None
        if not isinstance(setting.value, str) or not setting.value:
            raise SettingsProblem(f"{setting.place}: `{key}` must be text in quotes")
        return setting.value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the value of a key that holds a list of text."""
        setting = self.values.get(key)
        if setting is None:
            return ()
        if not isinstance(setting.value, list) or not all(isinstance(item, str) for item in setting.value):
            raise SettingsProblem(f"{setting.place}: `{key}` must be a list of texts in quotes")
        return tuple(setting.value)


def read_settings(*, working_directory: Path, environment: Mapping[str, str]) -> Settings:
    """Return the user's settings with the project's on top."""
    merged: dict[str, Setting] = {}
    for path in (user_file(environment), project_file(working_directory)):
        if path is not None and path.is_file():
            merged.update(parse_settings(_read(path), source=str(path)))
    return Settings(values=merged)


def project_file(working_directory: Path) -> Path | None:
    """Return the nearest `artifactctl.toml` in the working directory or above it."""
    for folder in (working_directory, *working_directory.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    return None


def user_file(environment: Mapping[str, str]) -> Path | None:
    """Return where the user's own file would be; None when there is no home to look in."""
    folder = environment.get("XDG_CONFIG_HOME") or ""
    if not folder.startswith("/"):
        home = environment.get("HOME")
        if not home:
            return None
        folder = f"{home}/.config"
    return Path(folder) / "artifactctl" / FILE_NAME


def parse_settings(text: str, *, source: str) -> dict[str, Setting]:
    """Return the settings in one file by `table.key`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsProblem(f"{source}: not TOML: {error}", remedy="correct the file, or move it away") from error
    found = {}
    for table, content in document.items():
        if table not in KNOWN_KEYS or not isinstance(content, dict):
            raise _unknown("table" if isinstance(content, dict) else "key", table, KNOWN_KEYS, text, source)
        for key, value in content.items():
            if key not in KNOWN_KEYS[table]:
                raise _unknown("key", key, KNOWN_KEYS[table], text, source, table=table)
            found[f"{table}.{key}"] = Setting(value=value, place=f"{source}:{_line_of(text, key)}")
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsProblem(f"{path}: cannot be read: {error}", remedy="make it readable UTF-8") from error


def _unknown(what: str, word: str, known: Any, text: str, source: str, *, table: str = "") -> SettingsProblem:
    close = get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    near = close[0] if close else None
    place = f"{source}:{_line_of(text, word)}"
    within = f" in [{table}]" if table else ""
    if near:
        return SettingsProblem(f"{place}: unknown {what} `{word}`{within}", remedy=f"did you mean `{near}`?")
    allowed = ", ".join(known) or "none in this version"
    return SettingsProblem(f"{place}: unknown {what} `{word}`{within}", remedy=f"known here: {allowed}")


def _line_of(text: str, word: str) -> int:
    """Return the first line that begins with the key or the table, 1 when it is written in some other way."""
    pattern = re.compile(rf"^\s*\[?\s*[\"']?{re.escape(word)}[\"']?\s*[=\].]")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)
