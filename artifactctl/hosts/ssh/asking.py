"""One question to a machine that only /bin/sh is needed to answer: fields that are complete, or nothing at all."""

from datetime import timedelta

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.connection import Connection
from artifactctl.hosts.ssh.failures import SessionRefused, Unreachable
from artifactctl.hosts.ssh.starting import END_TIMEOUT, START_TIMEOUT, new_mark, start_script
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
    """Return what the script prints. Its last line must end well: the trailer that follows tells so.

    Unreachable when the answer did not come whole, SessionRefused with the script's words when it failed.
    """
    mark, trailer = new_mark(), new_mark()
    begin = f"{_TIED_TO_INPUT}{mark.printing} >&2\n{mark.printing}\n"
    whole = f"{begin}(\n{script}\n)\nstatus=$?\n{trailer.printing}\nexit $status"
    channel = start_script(connection, whole, mark, silence=deadline, start_timeout=start_timeout).channel
    seen = bytearray()
    try:
        while received := channel.read(_PIECE_BYTES):
            seen += received
            if len(seen) > MOST_ANSWER_BYTES:
                raise ChannelLost(f"it said more than {MOST_ANSWER_BYTES >> 20} MiB")
        status = channel.exit_status(END_TIMEOUT)
        said = channel.said().rpartition(mark.word)[2].strip()  # not what the login shell complains about
    except ChannelLost as lost:
        raise Unreachable(
            f"{connection.destination} did not answer in full: {lost}", remedy="run the command again"
        ) from lost
    finally:
        channel.close()
    answer, found, _ = bytes(seen).rpartition(trailer.printed)
    if not found:
        raise Unreachable(
            f"the answer of {connection.destination} is cut off{': ' + printable(said) if said else ''}",
            remedy="run the command again",
        )
    if status != 0:
        raise SessionRefused(
            f"{connection.destination}: {printable(said) or f'exit {status}'}", remedy="look at it with `ssh` by hand"
        )
    return answer
