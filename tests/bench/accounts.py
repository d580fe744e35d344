"""Two people with accounts of their own, in a group of theirs, for as long as a test runs (system tests only).

The system's lists of accounts and groups are covered by ones that hold them too; the mounts are gone at the end.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.command_line import CommandLine, command_line
from tests.bench.nobody import prefix_for

GROUP, GROUP_ID = "bench-ml", 61100
PEOPLE = {"ada": 61001, "bob": 61002, "eve": 61003}
OUTSIDE_THE_GROUP = ("eve",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """`command_lines` by name; `shared` is a folder that the group owns and may write to."""

    command_lines: dict[str, CommandLine]
    shared: Path

    def __getitem__(self, name: str) -> CommandLine:
        return self.command_lines[name]


@contextmanager
def known_accounts() -> Iterator[None]:
    """Make ada, bob (both in the group) and eve (not in it) known to everybody who looks."""
    people = "".join(f"{name}:x:{number}:{number}:{name}:/:/bin/sh\n" for name, number in PEOPLE.items())
    own = "".join(f"{name}:x:{number}:\n" for name, number in PEOPLE.items())
    members = ",".join(name for name in PEOPLE if name not in OUTSIDE_THE_GROUP)
    with ExitStack() as stack:
        for file, more in (("/etc/passwd", people), ("/etc/group", f"{own}{GROUP}:x:{GROUP_ID}:{members}\n")):
            stack.enter_context(_covered(Path(file), more))
        yield


@contextmanager
def team() -> Iterator[Team]:
    """Yield a command line for each of them and the shared folder, as a team would set it up (mode 2770)."""
    with known_accounts():
        top = Path(tempfile.mkdtemp(prefix="team-", dir="/run"))
        top.chmod(0o755)
        shared = top / "shared"
        shared.mkdir()
        os.chown(shared, PEOPLE["ada"], GROUP_ID)
        shared.chmod(0o2770)
        lines = {}
        for name, number in PEOPLE.items():
            (top / name).mkdir()
            groups = () if name in OUTSIDE_THE_GROUP else (GROUP_ID,)
            lines[name] = command_line(top / name, prefix=prefix_for(number, groups=groups))
            for owned in (lines[name].home, lines[name].cwd):
                os.chown(owned, number, number)
        try:
            yield Team(command_lines=lines, shared=shared)
        finally:
            shutil.rmtree(top)


@contextmanager
def _covered(file: Path, more: str) -> Iterator[None]:
    with tempfile.NamedTemporaryFile("w", dir="/run", encoding="utf-8") as longer:
        longer.write(file.read_text(encoding="utf-8") + more)
        longer.flush()
        os.chmod(longer.name, 0o644)
        subprocess.run(["mount", "--bind", longer.name, file], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", file], check=True)
