"""This machine."""

from artifactctl.hosts.acts import Acts
from artifactctl.hosts.calling import InProcess
from artifactctl.hosts.looks import Looks


class LocalHost(Looks, Acts):
    """The machine the program runs on: `Host` of the protocol."""

    def __init__(self, *, stand_in_machine_id: str = "") -> None:
        calls = InProcess()
        Looks.__init__(self, calls, stand_in_machine_id=stand_in_machine_id)
        Acts.__init__(self, calls)
