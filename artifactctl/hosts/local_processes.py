"""The processes of the machine the program runs on."""

from artifactctl.hosts.calling import InProcess
from artifactctl.hosts.processes import Processes


class LocalProcesses(Processes):
    """This machine's."""

    def __init__(self) -> None:
        super().__init__(InProcess())
