"""Running one script on another machine, with whatever the login shell says before it kept out of the answer."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.channel import SILENCE, SshChannel
from artifactctl.hosts.ssh.connection import Connection
from artifactctl.hosts.ssh.failures import SessionRefused, Unreachable
from artifactctl.hosts.ssh.shell import for_any_shell
from artifactctl.hosts.wire.channel import ChannelLost

START_TIMEOUT = timedelta(seconds=60)
END_TIMEOUT = timedelta(seconds=10)
MOST_NOISE_BYTES = 8 * 1024 * 1024
_PIECE_BYTES = 64 * 1024
_SHOWN_SIGNS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A word that nothing but our script prints. It is put together there, so that an echo of the script is none."""

    first: str
    second: str

    @property
    def word(self) -> str:
        """The word itself."""
        return self.first + self.second

    @property
    def begins(self) -> bytes:
        """How what comes out begins: NUL, the word, a blank."""
        return f"\0{self.word} ".encode("ascii")

    @property
    def printed(self) -> bytes:
        """What comes out where nothing is said with it."""
        return self.begins + b"\n"

    def printing(self, value: str = "") -> str:
        """Return the line of /bin/sh that prints it, with `value` (a word of /bin/sh) behind."""
        return f'printf "\\000%s%s %s\\n" {self.first} {self.second} "{value}"'


def new_mark() -> Mark:
    """Return a mark that was never used before."""
    return Mark(first=f"a{secrets.token_hex(8)}", second=secrets.token_hex(8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A script that runs. `channel` begins after the mark; `noise` is what came before it."""

    channel: SshChannel
    noise: bytes


class ScriptFailed(SessionRefused):
    """The script ended before its mark came. `status` None: nobody knows how; `said` and `noise` are its words."""

    def __init__(self, message: str, *, remedy: str, status: int | None, said: str, noise: str) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status
        self.said = said
        self.noise = noise


def start_script(
    connection: Connection,
    script: str,
    mark: Mark,
    *,
    silence: timedelta = SILENCE,
    start_timeout: timedelta = START_TIMEOUT,
) -> Started:
    """Run a script of /bin/sh that prints `mark` when it is under way; ScriptFailed when it ends before.

    Login shells run their start-up files first: those may be slow and may print anything.
    """
    channel = connection.run(for_any_shell(script), silence=start_timeout)
    try:
        seen = _read_to(mark.printed, channel)
        before, found, after = seen.partition(mark.printed)
        if not found:
            raise _failed(connection, channel, seen)
    except ChannelLost as lost:
        channel.close()
        raise Unreachable(
            f"{connection.destination} did not start what was asked: {lost}",
            remedy="a slow or waiting start-up file of the login shell looks like this; try `ssh` by hand",
        ) from lost
    except BaseException:
        channel.close()
        raise
    channel.wait_at_most(silence)
    channel.put_back(after)
    return Started(channel=channel, noise=before)


def _read_to(printed: bytes, channel: SshChannel) -> bytes:
    """Return everything up to the mark and whatever came with it; without it when the output ends before."""
    seen = bytearray()
    while printed not in seen[-len(printed) - _PIECE_BYTES :]:
        received = channel.read(_PIECE_BYTES)
        if not received:
            return bytes(seen)
        seen += received
        if len(seen) > MOST_NOISE_BYTES:
            raise ChannelLost(f"its login shell printed more than {MOST_NOISE_BYTES >> 20} MiB")
    return bytes(seen)


def _failed(connection: Connection, channel: SshChannel, noise: bytes) -> ScriptFailed:
    status = channel.exit_status(END_TIMEOUT)
    said, noisy = channel.said(), printable(noise.decode("utf-8", "surrogateescape").strip())
    words = "; ".join(text.strip()[-_SHOWN_SIGNS:] for text in (said.replace("\n", "; "), noisy) if text.strip())
    return ScriptFailed(
        f"the login shell of {connection.destination.user} on {connection.destination} did not run /bin/sh"
        f" (exit {'unknown' if status is None else status}){': ' + words if words else ''}",
        remedy="use an account whose login shell runs commands; a restricted one cannot",
        status=status,
        said=said,
        noise=noisy,
    )
