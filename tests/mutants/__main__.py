"""`python -m tests.mutants [NAME ...]`: exit 0 when the tests pass as they are and notice every break."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.breaks import known_breaks
from tests.mutants.trying import Fate, chosen, copy_of_checkout, run_tests, try_break


def main(names: list[str]) -> int:
    """Try the breaks, print a line for each and the count; return the exit code."""
    breaks = chosen(known_breaks(), names)
    unnoticed = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copy_of_checkout(Path(folder))
        sound = run_tests(copy, sorted({test for wrong in breaks for test in wrong.tests}))
        if sound.returncode:
            print(sound.stdout, sound.stderr, "the tests fail without any break", sep="\n")
            return 1
        for wrong in breaks:
            begun = time.monotonic()
            fate, said = try_break(copy, wrong)
            unnoticed += fate is not Fate.NOTICED
            print(f"{fate:9} {time.monotonic() - begun:5.1f} s  {wrong.name}: {wrong.what} ({said})", flush=True)
    print(f"{len(breaks) - unnoticed} of {len(breaks)} breaks were noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (LookupError, ValueError, subprocess.SubprocessError) as trouble:
        sys.exit(f"error: {trouble}")
