"""The lines of an ssh_config file: keyword, arguments, and where they stand."""

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from artifactctl.hosts.ssh.failures import ConfigProblem

_LINE = re.compile(r"\s*(?P<keyword>[A-Za-z][A-Za-z0-9]*)(?:\s*=\s*|\s+)(?P<rest>.*?)\s*")
_WORD = re.compile(r'"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+)')
_TAKEN_WHOLE = ("proxycommand", "match")
_OTHERS_MAY_WRITE = 0o022


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One setting. `rest` is everything after the keyword, `words` the same word by word, without quotes."""

    keyword: str
    rest: str
    words: tuple[str, ...]
    place: str


def read_lines(file: Path, *, is_own: bool) -> tuple[Line, ...]:
    """Return the settings in the file, none when it does not exist.

    ConfigProblem for a line that is no setting, and for an own file that others may write: it can run commands.
    """
    try:
        with file.open("rb") as opened:
            status = os.fstat(opened.fileno())
            text = opened.read().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise ConfigProblem(f"{file}: cannot be read: {error.strerror}", remedy="make it readable") from error
    if is_own and (status.st_mode & _OTHERS_MAY_WRITE or status.st_uid not in (0, os.getuid())):
        raise ConfigProblem(f"{file}: others may write it, and it can run commands", remedy=f"chmod 600 {file}")
    return tuple(_lines(text, str(file)))


def _lines(text: str, source: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{source}:{number}"
        found = _LINE.fullmatch(line)
        if found is None or not found["rest"]:
            raise ConfigProblem(f"{place}: `{line.strip()}` is no setting", remedy="`ssh -G HOST` says so as well")
        keyword = found["keyword"].lower()
        yield Line(keyword=keyword, rest=found["rest"], words=_words(keyword, found["rest"]), place=place)


def _words(keyword: str, rest: str) -> tuple[str, ...]:
    """Return the arguments; a `#` at the beginning of one makes the rest a comment."""
    words = []
    for found in _WORD.finditer(rest):
        plain = found["plain"]
        if plain is not None and plain.startswith("#") and keyword not in _TAKEN_WHOLE:
            break
        words.append(plain if plain is not None else found["quoted"])
    return tuple(words)


def included_files(line: Line, *, home: Path, folder: Path) -> tuple[Path, ...]:
    """Return the files an `Include` names, in order; one that is relative lies in `folder`."""
    found: list[Path] = []
    for word in line.words:
        pattern = str(home / word[2:]) if word.startswith("~/") else os.path.join(folder, word)
        found += [Path(name) for name in sorted(glob.glob(pattern))]
    return tuple(found)
