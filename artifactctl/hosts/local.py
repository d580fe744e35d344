"""This machine."""

from artifactctl.hosts.acts import Acts
from artifactctl.hosts.calling import InProcess
from artifactctl.hosts.copying import Copying
from artifactctl.hosts.looks import Looks


class LocalHost(Looks, Acts, Copying):
    """The machine the program runs on: `Host` of the protocol, and `CopyingHost`."""

    def __init__(self, *, stand_in_machine_id: str = "") -> None:
        calls = InProcess()
        Looks.__init__(self, calls, stand_in_machine_id=stand_in_machine_id)
        Acts.__init__(self, calls)
        Copying.__init__(self, calls)
