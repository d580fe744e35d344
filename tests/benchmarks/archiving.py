"""How fast copies go over ssh: `tests/bench/sandbox.sh python -m tests.benchmarks.archiving [MIB] [FILES]`, as root.

Machines behind sshd in network namespaces, each with an ext4 volume of its own; everything is on one computer, so both
sides and sshd share its processors. Random bytes in large files, then small files; reading back and recording included.
"""

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from artifactctl.report.archive import CopyMade
from tests.bench.machines import Fittings, running_machine, ssh_home
from tests.bench.volumes import FilesystemKind, mounted_volume
from tests.system.archive_lab import Lab, laboratory, seen

MIB = 256
FILES = 1000
LARGE_FILES = 4
VOLUME_BYTES = 4 << 30
_SMALL_BYTES = 4096


def main() -> None:
    """Make the machines, then measure each way."""
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else MIB
    files = int(sys.argv[2]) if len(sys.argv) > 2 else FILES
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = {}
        for name in ("alpha", "beta"):
            (folder / name).mkdir()
            volume = stack.enter_context(mounted_volume(FilesystemKind.EXT4, folder / name, size_bytes=VOLUME_BYTES))
            made[name] = stack.enter_context(running_machine(name, Fittings(volume=volume)))
        lab = stack.enter_context(laboratory(folder, ssh_home(folder / "home"), made))
        plant(lab, "large", count=LARGE_FILES, size_bytes=(mib << 20) // LARGE_FILES)
        plant(lab, "small", count=files, size_bytes=_SMALL_BYTES)
        for name in ("large", "small"):
            tell(f"{name}, machine to machine", lab.archive("beta", name))


def plant(lab: Lab, name: str, *, count: int, size_bytes: int) -> None:
    """Write files on alpha and register them."""
    top = Path(os.fsdecode(seen(lab.machines["alpha"], name)))
    top.mkdir()
    for number in range(count):
        (top / f"file-{number:05}").write_bytes(os.urandom(size_bytes))
    lab.add(name, "alpha", name.encode())


def tell(what: str, made: CopyMade) -> None:
    """Print one measurement."""
    rate = made.sent_bytes / (1 << 20) / made.seconds
    print(f"{what}: {made.sent_bytes >> 20} MiB, {made.files} files in {made.seconds:.2f} s: {rate:.1f} MiB/s")


if __name__ == "__main__":
    main()
