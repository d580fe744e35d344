"""Files as they stand in a revision, by `git show`: nothing is checked out."""

import os
import subprocess
from functools import partial
from pathlib import Path

from artifactctl.domain.errors import UsageError

GIT_PREFIX = "git:"

_PROGRAM = ("git", "--no-pager", "--literal-pathspecs")
_HINT = "write git:REVISION:PATH, such as git:origin/main:policies/"


class RevisionUnreadable(UsageError):
    """Git cannot show what was asked for."""


def files_at_revision(word: str, *, endings: tuple[str, ...], working_directory: Path) -> tuple[tuple[str, bytes], ...]:
    """Return the file that `git:REV:PATH` names, or the files of that folder which end as given, in name order.

    PATH counts from the top of the repository; a path that begins with `./` counts from the working directory.
    """
    revision, path = _parts(word)
    ask = partial(_git, asked=word, working_directory=working_directory)
    commit = ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    where = f"{commit.decode().strip()}:{path.rstrip('/')}"
    if ask("cat-file", "-t", where).strip() == b"blob":
        return ((word, ask("cat-file", "blob", where)),)
    listed = map(os.fsdecode, ask("ls-tree", "-z", "--name-only", where).split(b"\0"))
    names = sorted(name for name in listed if name.endswith(endings) and not name.startswith("."))
    if not names:
        raise RevisionUnreadable(f"{word} holds no policy file", remedy="policy files end in .yaml or .yml")
    shown = word if word.endswith(("/", ":")) else f"{word}/"
    inside = where if where.endswith(":") else f"{where}/"
    return tuple((f"{shown}{name}", ask("cat-file", "blob", f"{inside}{name}")) for name in names)


def place_in_work_tree(word: str, *, working_directory: Path) -> Path | None:
    """Return where what `git:REV:PATH` names lies in the working tree, there now or not; None in a bare repository."""
    _, path = _parts(word)
    if path.startswith(("./", "../")):
        return working_directory / path
    ask = partial(_git, asked=word, working_directory=working_directory)
    if ask("rev-parse", "--is-inside-work-tree").strip() != b"true":
        return None
    return Path(os.fsdecode(ask("rev-parse", "--show-toplevel").rstrip(b"\n"))) / path


def _parts(word: str) -> tuple[str, str]:
    revision, separator, path = word.removeprefix(GIT_PREFIX).partition(":")
    if not separator or not revision or revision.startswith("-"):
        raise RevisionUnreadable(f"`{word}` names no revision and path", remedy=_HINT)
    return revision, path


def _git(*words: str, asked: str, working_directory: Path) -> bytes:
    command = [*_PROGRAM, *words]
    try:
        done = subprocess.run(command, cwd=working_directory, env=_environment(), capture_output=True, check=False)
    except FileNotFoundError as error:
        raise RevisionUnreadable(f"{asked} cannot be read: there is no git here", remedy="install git") from error
    if done.returncode:
        reason = _reason(done.stderr.decode("utf-8", "replace"))
        raise RevisionUnreadable(f"{asked} cannot be read: {reason}", remedy=_HINT)
    return done.stdout


def _environment() -> dict[str, str]:
    # What git says is looked at, so it must not be translated.
    return {**os.environ, "LC_ALL": "C"}


def _reason(said: str) -> str:
    first, *_ = said.strip().splitlines() or ("there is no such revision",)
    if "not a git repository" in first:
        return "the working directory lies in no git repository"
    return first.removeprefix("fatal: ")
