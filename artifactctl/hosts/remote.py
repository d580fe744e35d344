"""Another machine: the same probe at the far end of a channel."""

from types import TracebackType
from typing import Self

from artifactctl.hosts.acts import Acts
from artifactctl.hosts.looks import Looks
from artifactctl.hosts.processes import Processes
from artifactctl.hosts.wire.asking import PROMPT_SECONDS, OverWire
from artifactctl.hosts.wire.channel import Channel
from artifactctl.hosts.wire.conversation import Conversation
from artifactctl.hosts.wire.greeting import Greeting, Manners, greet


class RemoteHost(Looks, Acts):
    """A machine behind a channel whose far end runs `wire.bootstrap.command()`: `Host` of the protocol.

    `machine` names it in messages. NoAgent when no agent can be started there. It is closed by `close`, or as a
    context manager; its locks go with it. A lost connection stays lost: connect anew, and ask the root's journal.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        machine: str = "the other machine",
        manners: Manners | None = None,
        stand_in_machine_id: str = "",
        prompt_seconds: float = PROMPT_SECONDS,
    ) -> None:
        try:
            self.greeting, reader = greet(channel, machine, manners or Manners())
        except BaseException:
            channel.close()
            raise
        self._conversation = Conversation(channel, reader, machine)
        calls = OverWire(self._conversation, prompt_seconds=prompt_seconds)
        Looks.__init__(self, calls, stand_in_machine_id=stand_in_machine_id)
        Acts.__init__(self, calls)
        self.processes = Processes(calls)

    greeting: Greeting
    processes: Processes

    @property
    def lost(self) -> str:
        """Why it cannot be asked any more, "" while it can."""
        return self._conversation.lost

    def close(self) -> None:
        """End the agent; a second call does nothing."""
        self._conversation.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
