"""How long first aid takes on a large tree, run by hand: `python -m tests.rescue.benchmark FOLDER [FILES]`.

Makes FILES (200,000) small files below FOLDER/tree, unless they are there already, as dumps of one sample a file,
starts a writer beside them, and runs the command three times. Prints seconds from start to exit, and what was seen.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 3
PER_FOLDER = 2000
WRITER = """
import sys, time
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        file.write(bytes(2**19))
        time.sleep(0.1)
"""


def make_tree(top: Path, files: int) -> None:
    """Write SpecForge dumps of one sample a file, four generations side by side."""
    for number in range(files):
        generation, row = divmod(number, max(1, files // 4))
        begin = row // PER_FOLDER * PER_FOLDER
        folder = top / f"hidden-v{generation}" / f"rows_{begin}-{begin + PER_FOLDER}"
        if row % PER_FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"data_{row}.ckpt").write_bytes(b"x" * 10)


def measure(top: Path) -> None:
    """Run the command and print what it took."""
    for _ in range(RUNS):
        begun, cpu = time.monotonic(), os.times()
        done = subprocess.run(
            [sys.executable, "-m", "artifactctl", "rescue", top, "--json"], capture_output=True, check=True
        )
        seconds, spent = time.monotonic() - begun, os.times()
        answer = json.loads(done.stdout)
        used = spent.children_user + spent.children_system - cpu.children_user - cpu.children_system
        coverage = answer["coverage"]
        seen = "all" if coverage["complete"] else "a part"
        print(
            f"{seconds:.1f} s ({used:.1f} s of CPU), {coverage['entries']:,} entries, {seen} of the tree, "
            f"{len(answer['candidates'])} candidates, {len(answer['writers'])} writers"
        )


def main() -> None:
    """Make the tree, start the writer, measure."""
    folder = Path(sys.argv[1])
    tree = folder / "tree"
    if not tree.exists():
        make_tree(tree, int(sys.argv[2]) if len(sys.argv) > 2 else 200_000)
    with (
        tempfile.NamedTemporaryFile(dir=folder) as target,
        subprocess.Popen([sys.executable, "-c", WRITER, target.name]) as writer,
    ):
        measure(tree)
        writer.kill()


if __name__ == "__main__":
    main()
