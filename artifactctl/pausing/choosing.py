"""Which process may be paused: the checks before anything is watched."""

from artifactctl.domain.errors import Refused, UsageError
from artifactctl.hosts.processes import Processes, RunningProcess
from artifactctl.hosts.protocol import Host

SAMPLE_SECONDS = 0.3


class MayNotBePaused(Refused):
    """Stopping that process would stop us, our terminal, the machine, or is not this user's right."""


def choose_writer(processes: Processes, pid: int) -> RunningProcess:
    """Return the process to watch over; UsageError when there is none, MayNotBePaused with the reason."""
    if pid == 1:
        raise MayNotBePaused("process 1 keeps the machine (or container) running", remedy="name the job's own process")
    writer = processes.find(pid)
    if writer is None:
        raise UsageError(f"there is no process {pid}", remedy="`artifactctl rescue PATH` names who is writing")
    if pid in processes.own_line():
        raise MayNotBePaused(
            f"this command runs inside process {pid} ({writer.command}) and would stop itself",
            remedy="name the job's own process, or start the guard from another terminal",
        )
    if writer.is_kernel_thread:
        raise MayNotBePaused(f"process {pid} ({writer.command}) is a kernel thread", remedy="name the job's process")
    if not processes.may_signal(writer):
        raise MayNotBePaused(
            f"process {pid} ({writer.command}) belongs to another user", remedy="run the same command with sudo"
        )
    return writer


def writes_there(host: Host, processes: Processes, writer: RunningProcess, path: bytes) -> bool:
    """Whether the writer, or a descendant, has a file open for writing on the volume of `path` right now.

    A writer of many short files may be missed, so that False is worth a warning and no more.
    """
    family = {member.pid for member in processes.family(writer)}
    seen = host.activity(path, seconds=SAMPLE_SECONDS)
    return any(each.writes_here and each.pid in family for each in seen.writers)
