"""How long first aid takes on a large tree beside a writer: `python -m tests.benchmarks.rescue FOLDER [FILES]`.

Prints seconds from start to exit, and how much of the tree was seen, for three runs; then the CPU against `du`.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.trees import FILES, tree_in
from tests.benchmarks.turns import command, compare

RUNS = 3
WRITER = """
import sys, time
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        file.write(bytes(2**19))
        time.sleep(0.1)
"""


def measure(top: Path) -> None:
    """Run the command and print what it took."""
    words = (sys.executable, "-m", "artifactctl", "rescue", top, "--json")
    for _ in range(RUNS):
        begun = time.monotonic()
        done = subprocess.run(words, capture_output=True, check=True)
        seconds = time.monotonic() - begun
        answer = json.loads(done.stdout)
        coverage = answer["coverage"]
        seen = "all" if coverage["complete"] else "a part"
        print(
            f"{seconds:.1f} s, {coverage['entries']:,} entries, {seen} of the tree, "
            f"{len(answer['candidates'])} candidates, {len(answer['writers'])} writers"
        )
    compare(command("rescue", *words), command("du", "du", "-s", top), items=coverage["entries"], rounds=RUNS)


def main() -> None:
    """Make the tree, start the writer, measure."""
    folder = Path(sys.argv[1])
    tree = tree_in(folder, int(sys.argv[2]) if len(sys.argv) > 2 else FILES)
    with (
        tempfile.NamedTemporaryFile(dir=folder) as target,
        subprocess.Popen([sys.executable, "-c", WRITER, target.name]) as writer,
    ):
        try:
            measure(tree)
        finally:
            writer.kill()


if __name__ == "__main__":
    main()
