"""This machine."""

from artifactctl.hosts.local_act import LocalAct
from artifactctl.hosts.local_look import LocalLook


class LocalHost(LocalLook, LocalAct):
    """The machine the program runs on: `Host` of the protocol."""

    def __init__(self, *, stand_in_machine_id: str = "") -> None:
        LocalLook.__init__(self, stand_in_machine_id=stand_in_machine_id)
        LocalAct.__init__(self)
