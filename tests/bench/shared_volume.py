"""One folder mounted several times by FUSE daemons of their own: what the users of one mount do, no other mount shows.

That is how a volume looks that several machines mount over a network.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOUNT_SECONDS = 20


class SharedTrouble(RuntimeError):
    """The daemon did not mount the folder."""


@contextmanager
def mounted_by_fuse(backing: Path, place: Path) -> Iterator[Path]:
    """Show the folder `backing` at `place` through a daemon (bindfs) as long as the context lasts."""
    place.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(["bindfs", "-f", str(backing), str(place)], stderr=subprocess.PIPE) as daemon:
        try:
            _wait_until_mounted(place, daemon)
            yield place
        finally:
            subprocess.run(["umount", "--lazy", str(place)], check=True)
            daemon.terminate()
            place.rmdir()


def _wait_until_mounted(place: Path, daemon: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + MOUNT_SECONDS
    while not os.path.ismount(place):
        if daemon.poll() is not None or time.monotonic() > deadline:
            said = daemon.stderr.read() if daemon.stderr is not None and daemon.poll() is not None else b""
            raise SharedTrouble(f"{place} was not mounted: {said.decode(errors='replace')}")
        time.sleep(0.02)
