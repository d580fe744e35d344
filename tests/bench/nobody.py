"""Run commands as the user nobody, or another without privilege: nothing of root's is readable.

The interpreter and the checkout may lie in a folder that only root may enter (a pyenv in root's home). Then the command
gets a mount namespace of its own in which such folders are empty and open, save for what is needed to run.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.bench.sandbox import CHECKOUT

NOBODY = 65534

# $1: how many folders follow, in pairs (closed folder, what must be seen below it); then the command. What must be seen
# is bound aside first, since it vanishes below the empty folder.
OPEN_FOLDERS = """
set -eu
pairs=$1; shift
mount -t tmpfs -o mode=755 bench-nobody /mnt
index=0
while [ $index -lt $pairs ]; do
    mkdir /mnt/$index
    mount --bind "$2" /mnt/$index
    printf '%s\\0%s\\0' "$1" "$2" >> /mnt/pairs
    shift 2
    index=$((index + 1))
done
index=0
while [ $index -lt $pairs ] && IFS= read -r -d '' closed && IFS= read -r -d '' needed; do
    mountpoint -q "$closed" || mount -t tmpfs -o mode=755 bench-nobody "$closed"
    mkdir -p "$needed"
    mount --bind /mnt/$index "$needed"
    index=$((index + 1))
done < /mnt/pairs
exec "$@"
"""


def prefix_for_nobody() -> tuple[str, ...]:
    """Return the words to put before a command so that nobody runs it (as root, inside the sandbox)."""
    return prefix_for(NOBODY)


def prefix_for(user_id: int, *, groups: Sequence[int] = ()) -> tuple[str, ...]:
    """Return the words to put before a command so that an unprivileged user runs it, in its own group and these."""
    more = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
    become = ("setpriv", f"--reuid={user_id}", f"--regid={user_id}", more, "--no-new-privs", "--inh-caps=-all")
    pairs = _closed_folders(_needed_to_run())
    if not pairs:
        return become
    words = [word for closed, needed in pairs for word in (str(closed), str(needed))]
    unshare = ("unshare", "--mount", "--propagation", "private")
    return (*unshare, "bash", "-c", OPEN_FOLDERS, "open-folders", str(len(pairs)), *words, *become)


def as_nobody(
    command: Sequence[str | bytes | Path], *, cwd: Path = Path("/"), env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `command` as nobody to its end; its output is text."""
    return subprocess.run(
        [*prefix_for_nobody(), *command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )


def _needed_to_run() -> set[Path]:
    """Return the folders of the running interpreter, its libraries and the code under test."""
    return {Path(folder).resolve() for folder in (sys.prefix, sys.base_prefix, CHECKOUT)}


def _closed_folders(needed: Iterable[Path]) -> list[tuple[Path, Path]]:
    """Return (topmost folder that nobody may not enter, needed folder below it), in a fixed order."""
    pairs = []
    for folder in sorted(needed):
        closed = [parent for parent in reversed(folder.parents) if not _anybody_may_enter(parent)]
        if closed:
            pairs.append((closed[0], folder))
    return pairs


def _anybody_may_enter(folder: Path) -> bool:
    return bool(os.stat(folder).st_mode & 0o001)
