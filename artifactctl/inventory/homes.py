"""The home directories of a machine's accounts: none of them can be a root."""

import os
import pwd

from artifactctl.hosts.protocol import Host

_ACCOUNTS = b"/etc/passwd"
_MOST_BYTES = 1 << 22
_HOME_FIELD = 5


def homes_here() -> tuple[bytes, ...]:
    """Return those of this machine, as its name service has them."""
    return tuple(os.fsencode(account.pw_dir) for account in pwd.getpwall())


def homes_of(host: Host) -> tuple[bytes, ...]:
    """Return those of a machine; HostFailure when its accounts cannot be read.

    Of another machine its /etc/passwd counts; what a directory service has besides lies directly below /home, which is
    nobody's root anyway (`roots.why_never`).
    """
    if not host.identify().elsewhere:
        return homes_here()
    lines = host.read_range(_ACCOUNTS, 0, _MOST_BYTES).split(b"\n")
    fields = (line.split(b":") for line in lines)
    return tuple(field[_HOME_FIELD] for field in fields if len(field) > _HOME_FIELD and field[_HOME_FIELD])
