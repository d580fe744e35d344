"""What a machine costs that is asked over a wire: `python -m tests.benchmarks.remote FOLDER [FILES]`.

A walk and the guards' look through an agent behind pipes against the same in process, in turns, by the CPU seconds of
both sides, the agent's start included; then how long it takes by the clock to start one, ask it something and end it.
"""

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import ManagedPath
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.protocol import Host
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.wire.bootstrap import command
from artifactctl.hosts.wire.pipe import PipeChannel
from tests.benchmarks.trees import tree_in
from tests.benchmarks.turns import ROUNDS, Contender, compare

FILES = 100_000


def main() -> None:
    """Make the tree, then measure."""
    folder = Path(sys.argv[1])
    files = int(sys.argv[2]) if len(sys.argv) > 2 else FILES
    top = os.fsencode(tree_in(folder, files))
    print(f"{files:,} files")
    for name, ask in (("walk", walk), ("the guards' look at a quarter", observe)):
        far = Contender(name=f"{name} over the wire, both sides", run=through_agent(ask, top))
        near = Contender(name=f"{name} in process", run=in_process(ask, top))
        compare(far, near, items=files)
    firsts = [timed(lambda: connected().close(), time.monotonic) for _ in range(ROUNDS)]
    print(f"start, first answer and end: {statistics.median(firsts):.3f} s")


def connected() -> RemoteHost:
    """Start an agent and ask it something."""
    host = RemoteHost(PipeChannel(command(sys.executable)))
    host.identify()
    return host


def through_agent(ask: Callable[[Host, bytes], None], top: bytes) -> Callable[[], float]:
    """Return what starts an agent, asks it and waits for its end, by which its CPU seconds are known."""

    def run() -> None:
        with connected() as host:
            ask(host, top)

    return lambda: timed(run, cpu_seconds)


def in_process(ask: Callable[[Host, bytes], None], top: bytes) -> Callable[[], float]:
    """Return what asks this process."""
    return lambda: timed(lambda: ask(LocalHost(), top), cpu_seconds)


def walk(host: Host, top: bytes) -> None:
    """Take every entry."""
    for _ in host.walk(top):
        pass


def observe(host: Host, top: bytes) -> None:
    """Look at a quarter of it as the guards do."""
    root = Root(root_id="r", name="tree", host_id=1, path=top, filesystem_uuid="", filesystem_type="", inode=0)
    host.observe(root, ManagedPath(root=top, relative=b"hidden-v0"), catalog_id="c", catalog_epoch=1)


def timed(run: Callable[[], None], clock: Callable[[], float]) -> float:
    """Return the seconds that it took."""
    begun = clock()
    run()
    return clock() - begun


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


if __name__ == "__main__":
    main()
