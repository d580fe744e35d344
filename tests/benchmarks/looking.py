"""What looking at a large tree costs: `python -m tests.benchmarks.looking FOLDER [FILES]`.

The walk, `scan --dry-run` and what the guards look at, each against a plain walk with one stat a file. The root and
its catalog are made below FOLDER on the first run.
"""

import sys
from pathlib import Path

from tests.benchmarks.trees import FILES, tree_in
from tests.benchmarks.turns import command, compare, process_seconds, python

PLAIN = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        os.lstat(os.path.join(folder, name))
"""
WALK = """
import os, sys
from artifactctl.hosts.local import LocalHost
for listing in LocalHost().walk(os.fsencode(sys.argv[1])):
    pass
"""
OBSERVE = """
import os, sys
from artifactctl.hosts.probe.observing import observe_path
observe_path(os.fsencode(sys.argv[1]), b"hidden-v0")
"""


def main() -> None:
    """Make the tree and its root, then measure."""
    folder = Path(sys.argv[1])
    files = int(sys.argv[2]) if len(sys.argv) > 2 else FILES
    top = tree_in(folder, files)
    ours = (sys.executable, "-m", "artifactctl", "--catalog", str(folder / "catalog.db"))
    if not (folder / "catalog.db").exists():
        process_seconds((*ours, "init"), {})
        process_seconds((*ours, "root", "add", str(top), "--name", "tree"), {})
    plain = python("os.walk and lstat", PLAIN, str(top))
    print(f"{files:,} files")
    compare(python("walk", WALK, str(top)), plain, items=files)
    compare(python("walk", WALK, str(top)), command("find", "find", top, "-printf", r"%p\0%s\0%b\0%i\0%T@\0"))
    compare(command("scan --dry-run", *ours, "scan", "--dry-run", "tree"), plain, items=files)
    quarter = python("os.walk and lstat of a quarter", PLAIN, str(top / "hidden-v0"))
    compare(python("the guards' look at a quarter", OBSERVE, str(top)), quarter, items=files // 4)


if __name__ == "__main__":
    main()
