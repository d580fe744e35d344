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
    ask("cat-file", "-t", where)  # says best why there is no such thing
    kind, found = _followed(where, word, working_directory)
    if kind == "blob":
        return ((word, ask("cat-file", "blob", found)),)
    listed = map(os.fsdecode, ask("ls-tree", "-z", "--name-only", found).split(b"\0"))
    names = sorted(name for name in listed if name.lower().endswith(endings) and not name.startswith("."))
    if not names:
        raise RevisionUnreadable(f"{word} holds no policy file", remedy="policy files end in .yaml or .yml")
    shown = word if word.endswith(("/", ":")) else f"{word}/"
    inside = where if where.endswith(":") else f"{where}/"
    return tuple(
        (f"{shown}{name}", ask("cat-file", "blob", _file_at(f"{inside}{name}", f"{shown}{name}", working_directory)))
        for name in names
    )


def place_in_work_tree(word: str, *, working_directory: Path) -> Path | None:
    """Return where what `git:REV:PATH` names lies in the working tree, there now or not; None in a bare repository."""
    _, path = _parts(word)
    if path.startswith(("./", "../")):
        return working_directory / path
    ask = partial(_git, asked=word, working_directory=working_directory)
    if ask("rev-parse", "--is-inside-work-tree").strip() != b"true":
        return None
    return Path(os.fsdecode(ask("rev-parse", "--show-toplevel").rstrip(b"\n"))) / path


def _file_at(where: str, shown: str, working_directory: Path) -> str:
    kind, found = _followed(where, shown, working_directory)
    if kind != "blob":
        raise RevisionUnreadable(f"{shown} is no file", remedy="call folders otherwise than policy files")
    return found


def _followed(where: str, asked: str, working_directory: Path) -> tuple[str, str]:
    """Return (blob, tree or commit; object id) of `REV:PATH`, through symbolic links inside the revision."""
    if "\n" in where:
        raise RevisionUnreadable(f"{asked} cannot be read: its name has a line break", remedy=_HINT)
    said = _git(
        "cat-file",
        "--batch-check=%(objecttype) %(objectname)",
        "--follow-symlinks",
        asked=asked,
        working_directory=working_directory,
        given=os.fsencode(where) + b"\n",
    )
    kind, _, found = said.decode("utf-8", "replace").partition("\n")[0].partition(" ")
    if kind not in ("blob", "tree", "commit"):
        raise RevisionUnreadable(
            f"{asked} cannot be read: it is, or lies behind, a symbolic link to what that revision does not hold",
            remedy="put the file itself there",
        )
    return kind, found


def _parts(word: str) -> tuple[str, str]:
    revision, separator, path = word.removeprefix(GIT_PREFIX).partition(":")
    if not separator or not revision or revision.startswith("-"):
        raise RevisionUnreadable(f"`{word}` names no revision and path", remedy=_HINT)
    return revision, path


def _git(*words: str, asked: str, working_directory: Path, given: bytes = b"") -> bytes:
    try:
        done = subprocess.run(
            [*_PROGRAM, *words],
            cwd=working_directory,
            env=_environment(),
            input=given,
            capture_output=True,
            check=False,
        )
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
