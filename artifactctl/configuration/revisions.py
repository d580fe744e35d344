"""Files as they stand in a revision, by `git show`: nothing is checked out."""

import os
import subprocess
from collections.abc import Iterable
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
    revision, separator, path = word.removeprefix(GIT_PREFIX).partition(":")
    if not separator or not revision or revision.startswith("-"):
        raise RevisionUnreadable(f"`{word}` names no revision and path", remedy=_HINT)
    commit = _git(
        ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"], word, working_directory
    )
    where = f"{commit.decode().strip()}:{path.rstrip('/')}"
    if _git(["cat-file", "-t", where], word, working_directory).strip() == b"blob":
        return ((word, _git(["cat-file", "blob", where], word, working_directory)),)
    listed = _git(["ls-tree", "-z", "--name-only", where], word, working_directory).split(b"\0")
    names = sorted(name for name in map(os.fsdecode, listed) if name.endswith(endings) and not name.startswith("."))
    if not names:
        raise RevisionUnreadable(f"{word} holds no policy file", remedy="policy files end in .yaml")
    slash = "" if path.endswith("/") or not path else "/"
    return tuple(
        (f"{word}{slash}{name}", _git(["cat-file", "blob", f"{where}{slash}{name}"], word, working_directory))
        for name in names
    )


def _git(words: Iterable[str], asked: str, working_directory: Path) -> bytes:
    command = [*_PROGRAM, *words]
    try:
        done = subprocess.run(command, cwd=working_directory, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise RevisionUnreadable(f"{asked} cannot be read: there is no git here", remedy="install git") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ") or "there is no such revision"
        raise RevisionUnreadable(f"{asked} cannot be read: {said}", remedy=_HINT)
    return done.stdout
