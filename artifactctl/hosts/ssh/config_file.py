"""What ssh_config says of one machine, by the rules of ssh: the first value counts, keys to try add up.

The user's file comes before the system's; `Include`, `Host` and `Match` are followed as ssh does.
"""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from artifactctl.hosts.ssh.config_lines import Line, included_files, read_lines
from artifactctl.hosts.ssh.failures import ConfigProblem
from artifactctl.hosts.ssh.patterns import matches_list
from artifactctl.hosts.ssh.tokens import expand

SYSTEM_FILE = Path("/etc/ssh/ssh_config")
ADD_UP = ("identityfile",)
_DEEPEST_INCLUDE = 16
_EXCLUDE = {"proxyjump": "proxycommand", "proxycommand": "proxyjump"}
_MATCH_EXEC_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Whose settings are wanted: `name` and `user` as written ("" when not), `local_user`, `home`: this account's."""

    name: str
    user: str
    local_user: str
    home: Path


@dataclass(slots=True)
class Settings:
    """Keyword (lower case) to its line; several lines only for what adds up."""

    lines: dict[str, list[Line]] = field(default_factory=dict)
    asks_again: bool = False

    def first(self, keyword: str) -> Line | None:
        """Return the line that counts."""
        found = self.lines.get(keyword)
        return found[0] if found else None

    def text(self, keyword: str) -> str:
        """Return the value of a keyword that takes one word, "" when nothing sets it."""
        line = self.first(keyword)
        return line.words[0] if line and line.words else ""

    def take(self, line: Line) -> None:
        """Keep the line unless an earlier one said it already."""
        if self.first(_EXCLUDE.get(line.keyword, "")) is not None:
            return
        if line.keyword in ADD_UP or line.keyword not in self.lines:
            self.lines.setdefault(line.keyword, []).append(line)


def read_config(asking: Asking, *, system_file: Path = SYSTEM_FILE) -> Settings:
    """Return the settings for one machine; ConfigProblem names the line that cannot be followed."""
    settings = _Reading(asking=asking, system_file=system_file, final=False).settings()
    if settings.asks_again:
        settings = _Reading(asking=asking, system_file=system_file, final=True, found=settings).settings()
    return settings


class _Reading:
    """One pass over all files; the second one, in which `Match final` holds, only when one asks for it."""

    def __init__(self, *, asking: Asking, system_file: Path, final: bool, found: Settings | None = None) -> None:
        self._asking = asking
        self._system_file = system_file
        self._final = final
        self._settings = found or Settings()

    def settings(self) -> Settings:
        own = self._asking.home / ".ssh" / "config"
        self._read(own, active=True, depth=0, is_own=True)
        self._read(self._system_file, active=True, depth=0, is_own=False)
        return self._settings

    def _read(self, file: Path, *, active: bool, depth: int, is_own: bool) -> None:
        if depth > _DEEPEST_INCLUDE:
            raise ConfigProblem(f"{file}: included in itself, or {depth} deep", remedy="take the `Include` out")
        outer = active
        for line in read_lines(file, is_own=is_own):
            if line.keyword == "host":
                active = outer and matches_list(self._asking.name, line.words)
            elif line.keyword == "match":
                active = outer and self._matches(line)
            elif not active:
                continue
            elif line.keyword == "include":
                folder = self._asking.home / ".ssh" if is_own else self._system_file.parent
                for inner in included_files(line, home=self._asking.home, folder=folder):
                    self._read(inner, active=True, depth=depth + 1, is_own=is_own)
            elif not (self._final and line.keyword in ADD_UP and line in self._settings.lines.get(line.keyword, [])):
                self._settings.take(line)

    def _matches(self, line: Line) -> bool:
        """Whether every criterion holds; a command is run only when all before it do."""
        return all(self._holds(*criterion, line=line) for criterion in _criteria(line))

    def _holds(self, criterion: str, value: str, *, line: Line) -> bool:
        kind = criterion.lstrip("!").lower()
        if kind == "final":
            self._settings.asks_again = True
            holds = self._final
        elif kind == "exec":
            holds = _succeeds(expand(value, self._tokens(line), line.place), line)
        elif kind in ("all", "canonical"):  # names are never made canonical here
            holds = kind == "all"
        else:
            holds = matches_list(self._subject(kind, line), value.split(","))
        return holds is not criterion.startswith("!")

    def _subject(self, kind: str, line: Line) -> str:
        tokens = self._tokens(line)
        subjects = {"host": tokens["h"], "originalhost": tokens["n"], "user": tokens["r"], "localuser": tokens["u"]}
        if kind not in subjects:
            raise ConfigProblem(
                f"{line.place}: artifactctl cannot tell whether `Match {kind}` holds",
                remedy=f"put what {self._asking.name} needs into a `Host {self._asking.name}` before it",
            )
        return subjects[kind]

    def _tokens(self, line: Line) -> dict[str, str]:
        """Return what is known of the machine so far."""
        asking = self._asking
        host = expand(self._settings.text("hostname"), {"h": asking.name}, line.place) or asking.name
        user = asking.user or self._settings.text("user") or asking.local_user
        return {"h": host, "n": asking.name, "r": user, "u": asking.local_user, "d": str(asking.home)}


def _criteria(line: Line) -> Iterator[tuple[str, str]]:
    words = iter(line.words)
    for word in words:
        alone = word.lstrip("!").lower() in ("all", "canonical", "final")
        criterion, equals, value = word.partition("=")
        yield (word, "") if alone else (criterion, value if equals else next(words, ""))


def _succeeds(command: str, line: Line) -> bool:
    """Whether the command of a `Match exec` ends well; it stands in the user's own file, as ssh would run it."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=_MATCH_EXEC_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigProblem(
            f"{line.place}: the command of `Match exec` did not end within {_MATCH_EXEC_SECONDS} seconds",
            remedy="run it by hand",
        ) from error
    return done.returncode == 0
