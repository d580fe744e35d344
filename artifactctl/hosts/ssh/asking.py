"""One question to a machine that only /bin/sh is needed to answer: fields that are complete, or nothing at all."""

from datetime import timedelta

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.channel import SshChannel
from artifactctl.hosts.ssh.connection import Connection
from artifactctl.hosts.ssh.failures import SessionRefused, Unreachable
from artifactctl.hosts.ssh.starting import END_TIMEOUT, START_TIMEOUT, Mark, new_mark, start_script
from artifactctl.hosts.wire.channel import ChannelLost

MOST_ANSWER_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 64 * 1024

# What runs may take long and must not outlive its asker. `cat` waits for the end of the input, which comes when the
# connection ends, however that happens, and then the whole process group goes; by then the answer may be complete, and
# nothing is left in the group but the waiting itself.
_TIED_TO_INPUT = """\
LC_ALL=C; export LC_ALL
exec 3<&0 </dev/null
{ cat <&3; kill -TERM -$$; } >/dev/null 2>&1 &
exec 3<&-
"""


def ask(connection: Connection, script: str, *, deadline: timedelta, start_timeout: timedelta = START_TIMEOUT) -> bytes:
    """Return what the script prints when it ends well. `deadline` is for each silence of it.

    Unreachable when the answer did not come whole, SessionRefused with the script's words when it failed.
    """
    mark, trailer = new_mark(), new_mark()
    begin = f"{_TIED_TO_INPUT}{mark.printing()} >&2\n{mark.printing()}\n"
    whole = f"{begin}(\n{script}\n)\n{trailer.printing('$?')}"
    channel = start_script(connection, whole, mark, silence=deadline, start_timeout=start_timeout).channel
    try:
        answer, found, status = _all_of(channel).rpartition(trailer.begins)
        said = "" if status == b"0\n" else _said_after(mark, channel)
    except ChannelLost as lost:
        raise Unreachable(
            f"{connection.destination} did not answer in full: {lost}", remedy="run the command again"
        ) from lost
    finally:
        channel.close()
    if not found or not status.endswith(b"\n"):
        raise Unreachable(
            f"the answer of {connection.destination} is cut off{': ' + printable(said) if said else ''}",
            remedy="run the command again",
        )
    if status != b"0\n":
        reason = said or f"exit {status.decode('ascii', 'replace').strip()}"
        raise SessionRefused(f"{connection.destination}: {printable(reason)}", remedy="look at it with `ssh` by hand")
    return answer


def _all_of(channel: SshChannel) -> bytes:
    seen = bytearray()
    while received := channel.read(_PIECE_BYTES):
        seen += received
        if len(seen) > MOST_ANSWER_BYTES:
            raise ChannelLost(f"it said more than {MOST_ANSWER_BYTES >> 20} MiB")
    return bytes(seen)


def _said_after(mark: Mark, channel: SshChannel) -> str:
    """Return what the script complained about, without what its login shell did before."""
    channel.exit_status(END_TIMEOUT)
    return channel.said().rpartition(mark.word)[2].strip()
