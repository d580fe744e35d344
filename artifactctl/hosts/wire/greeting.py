"""Finding the agent behind whatever a login shell says first, and saying what came instead when there is none."""

import re
import sys
import time
from dataclasses import dataclass
from enum import StrEnum

from artifactctl.domain.errors import HostFailure, HostRefused, UsageError
from artifactctl.hosts.probe.frames import PROTOCOL, FrameReader, Kind, WireFault, decoded
from artifactctl.hosts.wire import packing
from artifactctl.hosts.wire.channel import Channel, ChannelLost
from artifactctl.hosts.wire.versions import OLDEST_PYTHON, READY

MOST_NOISE_BYTES = 1 << 20
BEAT_SECONDS = 5.0
BEATS_IN_SILENCE = 6
_MISSING = re.compile(r"not found|no such file|not recognized", re.IGNORECASE)
_PASSWORD = re.compile(r"password is required|a terminal is required", re.IGNORECASE)
_SHOWN_CHARACTERS = 300
_NAMES = "utf8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How both sides keep in touch. `asker` is the name by which a lock there says who holds it.

    An agent that hears nothing for `silence_seconds` is alone. It beats at least six times in that time, and every beat
    is answered, so that no single lost packet ends anything.
    """

    asker: str = "artifactctl"
    start_seconds: float = 60.0
    beat_seconds: float = BEAT_SECONDS
    silence_seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """Who answered: version and path of its Python, its process and its effective user."""

    python: str
    interpreter: str
    process: int
    user: int


class Lack(StrEnum):
    """Why no agent could be started."""

    NO_PYTHON = "no_python"
    OLD_PYTHON = "old_python"
    NO_SUDO = "no_sudo"
    NO_ANSWER = "no_answer"


class NoAgent(HostRefused):
    """The machine was reached and no agent could be started there; nothing was changed."""

    def __init__(self, message: str, *, lack: Lack, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.lack = lack


def greet(channel: Channel, machine: str, manners: Manners) -> tuple[Greeting, FrameReader]:
    """Start the agent that the channel's command waits to become; NoAgent or HostFailure when there is none.

    Returns who it is and the reader of its frames.
    """
    if sys.getfilesystemencoding().lower().replace("-", "") != _NAMES:
        raise UsageError(
            f"file names of {machine} cannot be kept apart under this locale", remedy="export PYTHONUTF8=1"
        )
    try:
        python, rest = _await_ready(channel, machine, manners.start_seconds)
        if python < OLDEST_PYTHON:
            raise _too_old(machine, python)
        pack = packing.pack(
            {
                "asker": manners.asker,
                "beat_seconds": min(manners.beat_seconds, manners.silence_seconds / BEATS_IN_SILENCE),
                "silence_seconds": manners.silence_seconds,
            }
        )
        channel.write(b"%d\n%b" % (len(pack), pack))
        reader = FrameReader(channel.read, rest)
        return _hello(reader, channel, machine), reader
    except (ChannelLost, WireFault) as fault:
        raise HostFailure(
            f"the agent on {machine} did not come up: {fault}{_shown(channel.said())}",
            remedy="check the machine and the way to it, then run the command again",
        ) from fault


def _await_ready(channel: Channel, machine: str, seconds: float) -> tuple[tuple[int, ...], bytes]:
    """Return the version of the Python that is ready there, and what came behind that."""
    came = bytearray(b"\n")
    ends_at = time.monotonic() + seconds
    while True:
        ready = READY.search(came)
        if ready is not None:
            return tuple(map(int, ready.groups())), bytes(came[ready.end() :])
        noise = bytes(came)
        if len(noise) > MOST_NOISE_BYTES:
            raise _no_answer(machine, f"over {MOST_NOISE_BYTES >> 20} MiB of something else came", noise, "")
        if time.monotonic() >= ends_at:
            raise _no_answer(machine, f"nothing was ready within {seconds:.0f} seconds", noise, channel.said())
        piece = channel.read(64 << 10)
        if not piece:
            raise _explained(machine, noise, channel.said())
        came += piece


def _hello(reader: FrameReader, channel: Channel, machine: str) -> Greeting:
    frame = reader.next()
    if frame is None or frame.kind is not Kind.HELLO:
        raise _no_answer(machine, "it ended before it was up", b"", channel.said())
    told = decoded(frame.payload)
    if not isinstance(told, dict) or (told.get("protocol"), told.get("digest")) != (PROTOCOL, packing.digest()):
        raise WireFault("another version of the probe answered than the one that was sent")
    if told.get("names") != _NAMES:
        raise WireFault("its Python does not keep every file name: it must be started with -X utf8")
    return Greeting(
        python=str(told.get("python")),
        interpreter=str(told.get("interpreter")),
        process=int(told.get("process", 0)),
        user=int(told.get("user", -1)),
    )


def _explained(machine: str, noise: bytes, said: str) -> NoAgent:
    together = said + noise.decode("utf-8", "replace")
    if _PASSWORD.search(together):
        return NoAgent(
            f"sudo on {machine} asks for a password{_shown(said)}",
            lack=Lack.NO_SUDO,
            remedy="let that account run python3 with `sudo -n` there, or do without sudo",
        )
    if _MISSING.search(together):
        return NoAgent(
            f"python3 is missing on {machine}{_shown(said or together)}",
            lack=Lack.NO_PYTHON,
            remedy=f"install Python {_version(OLDEST_PYTHON)} or newer there; until then it can only be looked at",
        )
    return _no_answer(machine, "it ended before Python was ready", noise, said)


def _too_old(machine: str, python: tuple[int, ...]) -> NoAgent:
    return NoAgent(
        f"Python {_version(python)} on {machine} is too old: {_version(OLDEST_PYTHON)} or newer is needed",
        lack=Lack.OLD_PYTHON,
        remedy="install a newer python3 there; until then it can only be looked at",
    )


def _no_answer(machine: str, what: str, noise: bytes, said: str) -> NoAgent:
    return NoAgent(
        f"no agent answered on {machine}: {what}{_shown(said or noise.decode('utf-8', 'replace'))}",
        lack=Lack.NO_ANSWER,
        remedy="log in there and see what the login shell does before it gives a prompt",
    )


def _version(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _shown(text: str) -> str:
    """Return the end of what was said, as one line behind a colon; "" for nothing."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f": {line[-_SHOWN_CHARACTERS:]}" if line else ""
