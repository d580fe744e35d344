"""A worker in a process of its own: `python -m tests.extract.running.running_child FOLDER ROOT OUT CODEC DELAY`.

It prints `ready` before it begins; SIGTERM stops it as the command is stopped.
"""

import sys
from pathlib import Path

from artifactctl.api.formats import Codec
from artifactctl.domain.errors import ArtifactctlError
from extract.stop_request import stop_request
from tests.extract.running.arithmetic import ArithmeticEngine
from tests.extract.running.site import Site


def main() -> int:
    """Extract; return the exit code that the command would have."""
    folder, root, out = map(Path, sys.argv[1:4])
    site = Site(folder=folder, root=root)
    engine = ArithmeticEngine(delay_seconds=float(sys.argv[5]))
    with stop_request("stopping after the record in hand") as should_stop:
        print("ready", flush=True)
        try:
            site.run(engine, out=out, should_stop=should_stop, codec=Codec(sys.argv[4]))
        except ArtifactctlError as error:
            print(f"{error.message}\n{error.remedy}", file=sys.stderr)
            return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
