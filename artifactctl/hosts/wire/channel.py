"""What carries bytes to an agent and back: an ssh channel, or the pipes of a process on this machine."""

from typing import Protocol


class ChannelLost(Exception):
    """Nothing more will come through: the link broke, or nothing was heard for too long. The message says which."""


class Channel(Protocol):
    """Bytes in order, both ways. One thread reads while others write; `close` may come from any of them.

    An agent is never silent for longer than `BEAT_SECONDS` of `greeting`, so a channel gives up by itself when it has
    heard nothing for a minute or so: a silent agent is a frozen one, however long its work takes.
    """

    def read(self, at_most: int) -> bytes:
        """Return what has come, b"" at its end; ChannelLost when the link breaks or stays silent for too long."""
        ...

    def write(self, data: bytes) -> None:
        """Send all of it; ChannelLost when that cannot be done, or not in the channel's own time."""
        ...

    def close(self) -> None:
        """End it, and with it the agent; a second call does nothing. A `read` under way ends with it."""
        ...

    def said(self) -> str:
        """Return the last of what the far side wrote to its standard error, in printable form; "" when nothing."""
        ...


def agent_ended(said: str) -> str:
    """Return that the other side ended, with the last line of what it said on its standard error."""
    lines = said.strip().splitlines()
    return f"the agent ended: {lines[-1]}" if lines else "the agent ended"
