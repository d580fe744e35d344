"""What can stand between here and another machine."""

from artifactctl.domain.errors import HostDenied, HostRefused, HostUnreachable, UsageError
from artifactctl.hosts.ssh.host_keys import HostKey


class UnreadableAddress(UsageError):
    """The word is no address of a machine."""


class ConfigProblem(UsageError):
    """A file of the ssh configuration cannot be read or followed."""


class Unreachable(HostUnreachable):
    """No connection to the machine's ssh server came about, or it broke before anything was asked."""


class HostKeyRefused(HostRefused):
    """The machine's key is not one that is pinned."""


class HostKeyUnknown(HostKeyRefused):
    """No key of the machine is pinned anywhere; `offered` is the one it showed, which proves nothing yet."""

    def __init__(self, message: str, *, remedy: str, offered: HostKey) -> None:
        super().__init__(message, remedy=remedy)
        self.offered = offered


class LoginRefused(HostDenied):
    """The machine did not let us in."""


class SessionRefused(HostRefused):
    """The machine let us in and then would not start what was asked."""


class PythonMissing(SessionRefused):
    """There is no Python there that the agent could run on."""


class SudoRefused(SessionRefused):
    """`sudo -n` did not run the agent."""
