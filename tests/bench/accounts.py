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

from tests.bench.command_line import command_line
from tests.bench.nobody import prefix_for
from tests.bench.volumes import unmount
from tests.bench.warm_command_line import WarmCommandLine, fork_server

GROUP, GROUP_ID = "bench-ml", 61100
PEOPLE = {"ada": 61001, "bob": 61002, "eve": 61003}
OUTSIDE_THE_GROUP = ("eve",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """`command_lines` by name; `folder` is one that everybody may enter."""

    command_lines: dict[str, WarmCommandLine]
    folder: Path

    def share(self) -> Path:
        """Make a folder that the group owns and may write to, as a team would set it up (mode 2770)."""
        shared = Path(tempfile.mkdtemp(prefix="shared-", dir=self.folder))
        os.chown(shared, PEOPLE["ada"], GROUP_ID)
        shared.chmod(0o2770)
        return shared


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
    """Yield a command line for each of them, in forks of a process of their own."""
    with known_accounts(), ExitStack() as stack:
        top = Path(tempfile.mkdtemp(prefix="team-", dir="/run"))
        stack.callback(shutil.rmtree, top)
        top.chmod(0o755)
        lines = {}
        for name, number in PEOPLE.items():
            (top / name).mkdir()
            groups = () if name in OUTSIDE_THE_GROUP else (GROUP_ID,)
            plain = command_line(top / name, prefix=prefix_for(number, groups=groups))
            for owned in (plain.home, plain.cwd):
                os.chown(owned, number, number)
            server = stack.enter_context(fork_server(prefix=plain.prefix))
            lines[name] = WarmCommandLine(home=plain.home, cwd=plain.cwd, prefix=plain.prefix, server=server)
        yield Team(command_lines=lines, folder=top)


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
            unmount(file)
