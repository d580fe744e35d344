"""`guard`: the checks, the first words and the watch."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from artifactctl.cli.wiring import Wiring
from artifactctl.hosts.local_processes import LocalProcesses
from artifactctl.pausing.choosing import choose_writer, writes_there
from artifactctl.pausing.watching import Watch, watch
from artifactctl.report.pausing import not_writing, watching

if TYPE_CHECKING:
    from artifactctl.pausing.thresholds import Thresholds
    from artifactctl.report.pausing import WatchResult


def watch_over(
    wiring: Wiring, pid: int, path: bytes, thresholds: "Thresholds", *, should_stop: Callable[[], bool]
) -> "WatchResult":
    """Watch one process until it ends or `should_stop` says so."""
    processes = LocalProcesses()
    writer = choose_writer(processes, pid)
    thresholds.refuse_unreachable(wiring.host.usage(path))
    if not writes_there(wiring.host, processes, writer, path):
        wiring.output.warning(not_writing(pid, path))
    others = len(processes.family(writer)) - 1
    below, above = thresholds.pause_below_bytes, thresholds.resume_above_bytes
    wiring.output.note(watching(pid, writer.command, others, path, pause_below_bytes=below, resume_above=above))
    return watch(
        Watch(
            host=wiring.host,
            processes=processes,
            writer=writer,
            path=path,
            thresholds=thresholds,
            say=wiring.output.note,
            should_stop=should_stop,
        )
    )
