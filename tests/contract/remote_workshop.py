"""The workshop around a machine that is asked over a wire; its users' hands are on the same volume."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from artifactctl.domain.errors import HostUnreachable
from artifactctl.hosts.probe.points import VARIABLE
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.wire.bootstrap import command
from artifactctl.hosts.wire.greeting import Manners
from artifactctl.hosts.wire.pipe import PipeChannel
from tests.bench.volumes import Volume
from tests.contract.local_workshop import LocalWorkshop, folder_on

Connect = Callable[[Mapping[str, str]], RemoteHost]
"""Starts an agent whose environment has these variables besides."""


def agent_here(extra: Mapping[str, str], *, manners: Manners | None = None) -> RemoteHost:
    """Return this machine as if it were another one: asked through an agent of its own."""
    words = command(sys.executable)
    return RemoteHost(PipeChannel(words, environment={**os.environ, **extra}), machine="there", manners=manners)


@contextmanager
def remote_workshop(volume: Volume, host: RemoteHost, connect: Connect = agent_here) -> Iterator["RemoteWorkshop"]:
    """A workshop in a new folder of the volume, which is as it was afterwards."""
    with folder_on(volume) as top:
        yield RemoteWorkshop(volume, top, host, connect)


class RemoteWorkshop(LocalWorkshop):
    """What is killed is the agent: its points are the same ones."""

    def __init__(self, volume: Volume, top: "os.PathLike[str]", host: RemoteHost, connect: Connect) -> None:
        super().__init__(volume, top)
        self.host = host
        self._connect = connect

    def killed_at(self, point: object, action: Callable[[], object]) -> bool:
        """Do it through an agent that kills itself at the point."""
        steady = self.host
        with self._connect({VARIABLE: f"{point}=kill"}) as dying:
            self.host = dying
            try:
                action()
            except HostUnreachable:
                assert dying.lost
                return True
            finally:
                self.host = steady
        return False
