"""A machine elsewhere under the name by which the catalog knows it, and with the key by which it proved who it is."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from artifactctl.domain.identity import HostIdentity
from artifactctl.hosts.protocol import Host


def known_as(host: Host, *, name: str, host_key: str) -> Host:
    """Return the machine with a name and a host key in its identity; all else is asked of `host`.

    Rented machines are often all called the same, so audit and plans name a machine as the catalog does. Who it is was
    found out when it was connected and is not asked again, so that what happened can be told after the line was cut.
    """
    return cast("Host", _KnownAs(host, replace(host.identify(), hostname=name, host_key=host_key)))


class _KnownAs:
    def __init__(self, host: Host, identity: HostIdentity) -> None:
        self._host = host
        self._identity = identity

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            return getattr(self._host, name)

    def identify(self) -> HostIdentity:
        """Return who the machine is."""
        return self._identity
