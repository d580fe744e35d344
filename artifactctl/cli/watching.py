"""`guard`: the checks, the first words and the watch."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import HostRefused
from artifactctl.pausing.choosing import choose_writer, writes_there
from artifactctl.pausing.watching import Watch, watch
from artifactctl.report.pausing import not_writing, watching

if TYPE_CHECKING:
    from artifactctl.hosts.processes import Processes
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.places import Place
    from artifactctl.pausing.thresholds import Thresholds
    from artifactctl.report.pausing import WatchResult


def watch_over(
    wiring: Wiring, pid: int, place: "Place", thresholds: "Thresholds", *, should_stop: Callable[[], bool]
) -> "WatchResult":
    """Watch one process of the place's machine until it ends or `should_stop` says so.

    Where the connection to another machine is lost, what was paused there goes on by itself.
    """
    host = wiring.fleet.reach(place.machine)
    processes = _processes_of(host, is_here=place.machine is None)
    writer = choose_writer(processes, pid)
    thresholds.refuse_unreachable(host.usage(place.path))
    if not writes_there(host, processes, writer, place.path):
        wiring.output.warning(not_writing(pid, place.typed))
    others = len(processes.family(writer)) - 1
    below, above = thresholds.pause_below_bytes, thresholds.resume_above_bytes
    wiring.output.note(watching(pid, writer.command, others, place.typed, pause_below_bytes=below, resume_above=above))
    return watch(
        Watch(
            host=host,
            processes=processes,
            writer=writer,
            path=place.path,
            thresholds=thresholds,
            say=wiring.output.note,
            should_stop=should_stop,
        )
    )


def _processes_of(host: "Host", *, is_here: bool) -> "Processes":
    if is_here:
        from artifactctl.hosts.local_processes import LocalProcesses

        return LocalProcesses()
    found: Processes | None = getattr(host, "processes", None)
    if found is None:
        name = host.identify().hostname
        raise HostRefused(
            f"{name} has no Python 3.8 or newer, so that nothing can be paused there",
            remedy=f"install python3 on {name}",
        )
    return found
