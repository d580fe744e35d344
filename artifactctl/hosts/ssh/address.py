"""The address of a machine as people write it: `ssh://user@host:port`."""

import ipaddress
import re
from dataclasses import dataclass

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.failures import UnreadableAddress

SCHEME = "ssh://"
_EXAMPLE = "write ssh://user@host or ssh://user@host:2222; an address of IPv6 stands in [brackets]"
_FORM = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<host>\[[^\]]*\]|[^:/\[\]]*)(?::(?P<port>[^/]*))?/?")
# Both words may end up in the ProxyCommand of somebody's ssh_config, which a shell reads.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@-]*\$?")
_ZONE = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a machine is. `host` is a name, an address or an alias of ssh_config; "" and None: nothing was said."""

    host: str
    user: str = ""
    port: int | None = None

    def __str__(self) -> str:
        """Return it as people write it, IPv6 in brackets."""
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SCHEME}{user}{host}{'' if self.port is None else f':{self.port}'}"


def parse_address(text: str) -> Address:
    """Return the address; UnreadableAddress when it is none."""
    if not text.startswith(SCHEME):
        raise UnreadableAddress(f"`{printable(text)}` does not begin with {SCHEME}", remedy=_EXAMPLE)
    return parse_destination(text.removeprefix(SCHEME), shown=text)


def parse_destination(text: str, *, shown: str = "") -> Address:
    """Return the address in `user@host:port`, as a jump of ssh_config has it, with or without `ssh://`."""
    shown = printable(shown or text)
    found = _FORM.fullmatch(text.removeprefix(SCHEME))
    if found is None:
        raise UnreadableAddress(f"`{shown}` is no address of a machine", remedy=_EXAMPLE)
    user, host, port = found["user"], found["host"], found["port"]
    if user is not None and ":" in user:
        raise UnreadableAddress(
            f"the address of {printable(host)} holds a password",
            remedy="leave it out: artifactctl logs in with keys, and passwords do not belong into a command line",
        )
    if user is not None and not _USER.fullmatch(user):
        raise UnreadableAddress(f"`{printable(user)}` in `{shown}` can be no user", remedy=_EXAMPLE)
    return Address(host=_host(host, shown), user=user or "", port=None if port is None else _port(port, shown))


def _host(host: str, shown: str) -> str:
    if host.startswith("["):
        return _ipv6(host[1:-1], shown)
    if not _HOST.fullmatch(host):
        raise UnreadableAddress(f"`{shown}` names no machine: `{printable(host)}` can be no name", remedy=_EXAMPLE)
    return host


def _ipv6(text: str, shown: str) -> str:
    literal, percent, zone = text.partition("%")
    try:
        address = ipaddress.IPv6Address(literal)
    except ValueError as error:
        raise UnreadableAddress(f"`{printable(text)}` in `{shown}` is no IPv6 address", remedy=_EXAMPLE) from error
    if percent and not _ZONE.fullmatch(zone):
        raise UnreadableAddress(f"`{printable(zone)}` in `{shown}` names no network interface", remedy=_EXAMPLE)
    return f"{address}{percent}{zone}"


def _port(text: str, shown: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise UnreadableAddress(f"`{printable(text)}` in `{shown}` is no port", remedy="a port is 1 to 65535")
    return int(text)
