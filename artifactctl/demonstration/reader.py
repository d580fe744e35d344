"""A process that has one shard open, as a training job would between two batches."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT_NAME = "read_shard.py"
# It waits for its input to end, so that it ends by itself when the demonstration does, however that ends.
SCRIPT = """\
import os, sys

with open(sys.argv[1], "rb") as shard:
    header_bytes = int.from_bytes(shard.read(8), "little")
    shard.read(header_bytes)
    print(f"process {os.getpid()} has read the header of {os.path.basename(sys.argv[1])} and goes on", flush=True)
    sys.stdin.read()
"""


@contextmanager
def reading(shard: str, *, folder: Path) -> Iterator[tuple[int, str]]:
    """Yield (process id, what it said) of a process in `folder` that has `shard`, a path below it, open."""
    (folder / SCRIPT_NAME).write_text(SCRIPT, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, SCRIPT_NAME, shard],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            yield process.pid, said
        finally:
            process.terminate()
