"""This machine."""

from artifactctl.hosts.local_copies import LocalCopies
from artifactctl.hosts.local_look import LocalLook


class LocalHost(LocalLook, LocalCopies):
    """The machine the program runs on: `Host` of the protocol, and `CopyingHost`."""

    def __init__(self, *, stand_in_machine_id: str = "") -> None:
        LocalLook.__init__(self, stand_in_machine_id=stand_in_machine_id)
        LocalCopies.__init__(self)
