"""Where policy files come from: named files and folders, a revision in git, what the program ships.

Files are called as the person named them, so that findings lead back to them.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from artifactctl.configuration.revisions import GIT_PREFIX, files_at_revision
from artifactctl.configuration.settings import Settings
from artifactctl.domain.errors import UsageError
from artifactctl.policy.read_ahead import FILE as SHIPPED_NAME
from artifactctl.policy.read_ahead import meaning_read_ahead
from artifactctl.policy.ruleset import Policy
from artifactctl.shipped import shipped_dir

FILES_KEY = "policy.files"
SHIPPED_DEFAULT = "default.yaml"
_ENDINGS = (".yaml", ".yml")

PolicyText = tuple[str, bytes]
"""What a file is called, and what is in it."""


class PolicyUnreadable(UsageError):
    """A policy file or folder that was named cannot be read at all."""


def shipped_default() -> Policy:
    """Return the policy that applies where none is configured."""
    return meaning_of([shipped_default_file()])


def shipped_default_file() -> PolicyText:
    """Return the file of the shipped default."""
    return SHIPPED_NAME, (shipped_dir("policies") / SHIPPED_DEFAULT).read_bytes()


def meaning_of(files: Sequence[tuple[str, str | bytes]]) -> Policy:
    """Return what the files (name, content) mean together; PolicyUnusable lists what is wrong with them."""
    known = meaning_read_ahead(files)
    if known is not None:
        return known
    from artifactctl.policy.reading import load_policy  # costs as much as the rest of a command, so only when needed

    return load_policy(files)


def policy_texts(words: Iterable[str], *, working_directory: Path) -> tuple[PolicyText, ...]:
    """Return the files that `words` name, each once: a file, the *.yaml and *.yml of a folder, or `git:REV:PATH`."""
    found: dict[str, bytes] = {}
    for word in words:
        found.update(_named(word, working_directory))
    return tuple(found.items())


def texts_in_force(settings: Settings, *, working_directory: Path) -> tuple[PolicyText, ...]:
    """Return the files under [policy] in artifactctl.toml, counted from the folder it lies in, else the default."""
    words = settings.texts(FILES_KEY)
    if not words:
        return (shipped_default_file(),)
    folder = Path(settings.values[FILES_KEY].place.rpartition(":")[0]).parent
    return policy_texts(
        (word if word.startswith(GIT_PREFIX) else _seen_from(folder / word, working_directory) for word in words),
        working_directory=working_directory,
    )


def folders_among(words: Iterable[str], *, working_directory: Path) -> tuple[tuple[str, str], ...]:
    """Return (name with a slash behind it, the names of its policy files, one a line) of what is a folder."""
    named = (os.path.normpath(word) for word in words if not word.startswith(GIT_PREFIX))
    folders = (name for name in named if (working_directory / name).is_dir())
    return tuple((f"{name}/", "\n".join(_policy_files_in(working_directory / name))) for name in folders)


def is_folder(name: str) -> bool:
    """Return whether this names a folder among the files that a plan keeps."""
    return name.endswith("/")


def changed_since(texts: Iterable[tuple[str, str]], *, working_directory: Path) -> str:
    """Return what has changed of files and folders (name, text), as the end of a sentence; "" when nothing has.

    A file that is gone, or lay in a revision or on another machine, has not changed; a folder has when it holds more.
    """
    for name, text in texts:
        path = working_directory / name
        try:
            if is_folder(name):
                added = set(_policy_files_in(path)).difference(text.split("\n")) if path.is_dir() else ()
                if added:
                    return f"{name} without {min(added)}, which lies there by now"
            elif not name.startswith(GIT_PREFIX) and path.is_file() and path.read_bytes() != text.encode("utf-8"):
                return f"{name}, which says something else by now"
        except OSError as error:
            raise _unreadable(name, error) from error
    return ""


def _seen_from(path: Path, working_directory: Path) -> str:
    within = path.is_relative_to(working_directory) and path != working_directory
    return str(path.relative_to(working_directory)) if within else str(path)


def _named(word: str, working_directory: Path) -> Iterable[PolicyText]:
    if word.startswith(GIT_PREFIX):
        return files_at_revision(word, endings=_ENDINGS, working_directory=working_directory)
    word = os.path.normpath(word)
    path = working_directory / word
    try:
        if not path.is_dir():
            return [(word, path.read_bytes())]
        names = _policy_files_in(path)
    except OSError as error:
        raise _unreadable(word, error) from error
    texts = [_file_in(path / name, name if word == "." else f"{word}/{name}") for name in names]
    if not texts:
        raise PolicyUnreadable(f"the folder {word} holds no policy file", remedy="policy files end in .yaml or .yml")
    return texts


def _policy_files_in(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.lower().endswith(_ENDINGS) and not name.startswith("."))


def _file_in(path: Path, shown: str) -> PolicyText:
    """Return a file of a folder; what is none (a pipe, a folder, a link to nothing) is named, not left out."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise PolicyUnreadable(f"{shown} is no file", remedy="call only policy files .yaml or .yml here")
        return shown, path.read_bytes()
    except OSError as error:
        raise _unreadable(shown, error) from error


def _unreadable(shown: str, error: OSError) -> PolicyUnreadable:
    return PolicyUnreadable(
        f"the policy {shown} cannot be read: {error.strerror}", remedy="name a policy file, or a folder of them"
    )
