"""A machine without Python: how full its filesystems are and how large a tree is, by stat and du; nothing else.

Every answer has a trailer (`asking`), numbers are taken only from where nothing else can stand, and a tree that could
not be read in full has no size but a lower bound that says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NoReturn

from artifactctl.domain.errors import HostFailure, HostRefused
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.observation import VolumeUsage
from artifactctl.domain.text import display_path, printable
from artifactctl.hosts.protocol import Host
from artifactctl.hosts.ssh.asking import ask
from artifactctl.hosts.ssh.connection import Connection
from artifactctl.hosts.ssh.facts import MachineFacts, ask_facts
from artifactctl.hosts.ssh.shell import word

if TYPE_CHECKING:
    from artifactctl.hosts.probe.mounts import Mount

SPACE_TIMEOUT = timedelta(seconds=60)
TREE_TIMEOUT = timedelta(hours=12)
"""How long `du` may say nothing: it is silent until it is done. A dead connection is noticed long before."""

_MOST_PROBLEMS = 20
_NUMBERS = ("%S", "%b", "%f", "%a", "%c", "%d")
"""Of `stat -f`: bytes of a block; blocks, free ones, those that users may take; inodes, free ones."""

# A network filesystem may never answer: where there is a `timeout` that counts in seconds, it is given five.
_SPACE = """\
patient=; timeout 1 true 2>/dev/null && patient="timeout 5"
space() {{ [ -e "$1" ] || {{ echo "it is not there" >&2; return 1; }}
  real=$($patient readlink -f -- "$1" && printf x) && numbers=$($patient stat -f -c {format} -- "$1") &&
  printf "%s\\000%s\\000" "${{real%?x}}" "$numbers"; }}
cat /proc/self/mountinfo && printf "\\000" && {asking}
"""

# du of GNU counts in bytes; others, busybox among them, in blocks of 1024. It says on stderr what it could not read.
_TREE = """\
[ -e {path} ] || [ -L {path} ] || {{ echo "it is not there" >&2; exit 1; }}
unit=1024; set -- -k
if du -s -B1 /dev/null >/dev/null 2>&1; then unit=1; set -- -B1; fi
exec 4>&1
problems=$({{ du -s -x "$@" -- {path} || echo "du ended with $?" >&2; }} 2>&1 >&4 | head -n {most}; printf x)
printf "\\000%s\\000%s" "$unit" "${{problems%x}}"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSize:
    """What a tree takes up on its filesystem, each inode once. With `problems` it is only a lower bound."""

    allocated_bytes: int
    problems: tuple[str, ...] = ()


class CoreutilsHost:
    """The part of `Host` that needs no Python. Every other method of `Host` is a HostRefused with what to install."""

    def __init__(self, connection: Connection, *, name: str) -> None:
        self._connection = connection
        self._name = name
        self._facts: MachineFacts | None = None

    def identify(self) -> HostIdentity:
        """Return who the machine is; its boot id is not asked for."""
        if self._facts is None:
            self._facts = ask_facts(self._connection, sudo=False)
        return HostIdentity(machine_id=self._facts.machine_id, hostname=self._facts.hostname, boot_id="")

    def now(self) -> datetime:
        """Return the machine's own clock."""
        return ask_facts(self._connection, sudo=False).clock

    def usage(self, path: bytes) -> VolumeUsage:
        """Return the space of the filesystem that holds `path`; quotas are not known, nor is the filesystem's UUID."""
        answer = self._ask(_space_script(f"space {word(path)}"), f"measure the space of {display_path(path)}")
        ((real, numbers),) = _pairs(answer, self._name)
        return _usage(_table(answer), real, numbers, self._name)

    def mounts(self) -> tuple[VolumeUsage, ...]:
        """Return the filesystems on which people store things; one whose space cannot be had is left out."""
        from artifactctl.hosts.probe.mounts import visible

        table = _table(self._ask("cat /proc/self/mountinfo && printf '\\000'", "read the mounts"))
        longest_first = sorted(visible(table), key=lambda mount: len(mount.point), reverse=True)
        chosen = {mount.device: mount for mount in longest_first if mount.is_for_storing}
        asking = "\n".join(f"space {word(mount.point)} 2>/dev/null" for mount in chosen.values())
        answer = self._ask(_space_script(f"{{ {asking}\n:; }}"), "measure the filesystems")
        found = (_usage(table, real, numbers, self._name) for real, numbers in _pairs(answer, self._name))
        return tuple(sorted((usage for usage in found if usage.size_bytes), key=lambda usage: usage.mount))

    def tree_size(self, path: bytes) -> TreeSize:
        """Return what the tree at `path` takes up; it follows no link and stays on its filesystem."""
        doing = f"measure {display_path(path)}"
        answer = self._ask(_TREE.format(path=word(path), most=_MOST_PROBLEMS), doing, deadline=TREE_TIMEOUT)
        counted, _, rest = answer.rpartition(b"\0")
        counted, _, unit = counted.rpartition(b"\0")
        number = counted.removesuffix(b"\t" + path + b"\n")
        if number == counted or not number.isdigit() or unit not in (b"1", b"1024"):
            raise HostFailure(
                f"{self._name}: du does not say how large {display_path(path)} is",
                remedy=f"try `du -s -k` on {self._name} by hand",
            )
        problems = rest.decode("utf-8", "surrogateescape").splitlines()
        return TreeSize(allocated_bytes=int(number) * int(unit), problems=tuple(map(printable, problems)))

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """Return the refusal of any other method of `Host`."""
        if not callable(getattr(Host, name, None)):
            raise AttributeError(name)

        def refuse(*arguments: object, **named: object) -> NoReturn:
            raise HostRefused(
                f"{self._name} has no Python 3.8 or newer, so that only df and du are answered there; nothing was done",
                remedy=f"install python3 on {self._name}",
            )

        return refuse

    def _ask(self, script: str, doing: str, *, deadline: timedelta = SPACE_TIMEOUT) -> bytes:
        try:
            return ask(self._connection, script, deadline=deadline)
        except HostRefused as refused:
            raise HostFailure(
                f"cannot {doing} on {self._name}: {refused.message}", remedy="check the path"
            ) from refused


def _space_script(asking: str) -> str:
    return _SPACE.format(format=word(" ".join(_NUMBERS)), asking=asking)


def _table(answer: bytes) -> "list[Mount]":
    from artifactctl.hosts.probe.mounts import parse

    return parse(answer.split(b"\0")[0])


def _pairs(answer: bytes, name: str) -> list[tuple[bytes, list[int]]]:
    """Return (resolved path, the numbers of stat) for each path that was asked about."""
    fields = answer.split(b"\0")[1:-1]
    pairs = []
    for real, said in zip(fields[::2], fields[1::2], strict=True):
        numbers = said.split()
        if len(numbers) != len(_NUMBERS) or not all(number.isdigit() for number in numbers):
            raise HostFailure(
                f"{name}: stat says `{display_path(said)}` about {display_path(real)}, which is no space",
                remedy=f"try `stat -f` on {name} by hand",
            )
        pairs.append((real, [int(number) for number in numbers]))
    return pairs


def _usage(table: "list[Mount]", real: bytes, numbers: list[int], name: str) -> VolumeUsage:
    from artifactctl.hosts.probe.mounts import NETWORK_TYPES, holding

    mount = holding(table, real)
    if mount is None:
        raise HostFailure(f"{name}: {display_path(real)} is on no mount", remedy=f"look at /proc/mounts on {name}")
    block_bytes, blocks, free, available, inodes, free_inodes = numbers
    return VolumeUsage(
        mount=mount.point,
        filesystem_uuid=f"unknown-{name}-{mount.device}",
        filesystem_type=mount.type,
        device=mount.source,
        size_bytes=blocks * block_bytes,
        used_bytes=(blocks - free) * block_bytes,
        free_bytes=free * block_bytes,
        available_bytes=available * block_bytes,
        total_inodes=inodes,
        available_inodes=free_inodes,
        block_bytes=block_bytes,
        read_only=mount.is_read_only,
        is_network=mount.type in NETWORK_TYPES,
    )
