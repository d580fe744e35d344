"""Where a connection goes and how: an address with everything that ssh_config adds to it."""

import os
import pwd
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from artifactctl.domain.errors import UsageError
from artifactctl.hosts.ssh.address import Address
from artifactctl.hosts.ssh.config_file import SYSTEM_FILE, Asking, Settings, read_config
from artifactctl.hosts.ssh.config_lines import Line
from artifactctl.hosts.ssh.failures import ConfigProblem
from artifactctl.hosts.ssh.known_hosts import DEFAULT_PORT
from artifactctl.hosts.ssh.tokens import expand

CONNECT_TIMEOUT = timedelta(seconds=20)
ALIVE_INTERVAL = timedelta(seconds=10)
ALIVE_COUNT = 3
USUAL_KEY_FILES = ("id_ed25519", "id_ecdsa", "id_rsa")
USUAL_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
SYSTEM_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One machine to connect to. `address` is what was written, `host` and `port` are where the server listens.

    `key_files` are tried in order, `names_keys` says that a person named them; `agent` is a socket, "" for none.
    `connect_timeout` is for each of: the connection, the first words, the agreement on keys. Every `alive_interval` the
    machine is asked whether it is there, and counts as gone after `patience` without an answer.
    `jumps` (nearest first) and `proxy_command` exclude each other. `key_name` is under what known_hosts has its key.
    """

    address: Address
    host: str
    port: int
    user: str
    key_name: str
    key_files: tuple[Path, ...]
    names_keys: bool
    identities_only: bool
    agent: str
    jumps: tuple[str, ...]
    proxy_command: str
    connect_timeout: timedelta
    alive_interval: timedelta
    patience: timedelta
    known_hosts_files: tuple[Path, ...]

    def __str__(self) -> str:
        """Return the address, and where it leads when that is elsewhere."""
        shown = str(self.address)
        elsewhere = self.host != self.address.host or (self.address.port is None and self.port != DEFAULT_PORT)
        return f"{shown} ({self.host} port {self.port})" if elsewhere else shown


def resolve(address: Address, *, environment: Mapping[str, str], system_file: Path = SYSTEM_FILE) -> Destination:
    """Return where the address leads for this account; ConfigProblem when ssh_config cannot be followed."""
    home, local_user = _home(environment), _local_user()
    asking = Asking(name=address.host, user=address.user, local_user=local_user, home=home)
    settings = read_config(asking, system_file=system_file)
    host = _expanded(settings, "hostname", {"h": address.host}) or address.host
    port = address.port or _number(settings, "port", DEFAULT_PORT)
    user = address.user or settings.text("user") or local_user
    tokens = {"h": host, "n": address.host, "p": str(port), "r": user, "u": local_user, "d": str(home)}
    alias = _expanded(settings, "hostkeyalias", tokens)
    tokens["k"] = alias or address.host
    own_path = _paths(tokens, home, environment)
    interval = _alive_interval(settings)
    key_files = [path for line in settings.lines.get("identityfile", ()) for path in own_path(line)]
    return Destination(
        address=address,
        host=host,
        port=port,
        user=user,
        key_name=alias or host,
        key_files=tuple(key_files) or tuple(home / ".ssh" / name for name in USUAL_KEY_FILES),
        names_keys=bool(key_files),
        identities_only=settings.text("identitiesonly").lower() in ("yes", "true"),
        agent=_agent(settings, own_path, environment),
        jumps=_jumps(settings, tokens),
        proxy_command=_proxy_command(settings, tokens),
        connect_timeout=timedelta(seconds=_number(settings, "connecttimeout", int(CONNECT_TIMEOUT.total_seconds()))),
        alive_interval=interval,
        patience=interval * _number(settings, "serveralivecountmax", ALIVE_COUNT),
        known_hosts_files=(
            *_known_hosts(settings, "userknownhostsfile", USUAL_KNOWN_HOSTS, own_path),
            *_known_hosts(settings, "globalknownhostsfile", SYSTEM_KNOWN_HOSTS, own_path),
        ),
    )


def _home(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    if not home.startswith("/"):
        raise UsageError(f"HOME is `{home}`, where no ssh configuration can be", remedy="set HOME to your own folder")
    return Path(home)


def _local_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _expanded(settings: Settings, keyword: str, tokens: Mapping[str, str]) -> str:
    line = settings.first(keyword)
    return expand(line.words[0], tokens, line.place) if line and line.words else ""


def _number(settings: Settings, keyword: str, otherwise: int) -> int:
    line = settings.first(keyword)
    if line is None or line.rest.lower() == "none":
        return otherwise
    if not (line.rest.isascii() and line.rest.split()[0].isdigit() and int(line.rest.split()[0])):
        raise ConfigProblem(f"{line.place}: `{line.rest}` is no number that {keyword} can have")
    return int(line.rest.split()[0])


def _alive_interval(settings: Settings) -> timedelta:
    """Return how often to ask whether the machine is there. ssh may be told (0) never to ask; we always do."""
    line = settings.first("serveraliveinterval")
    usual = int(ALIVE_INTERVAL.total_seconds())
    asked = usual if line is None or line.rest.strip() == "0" else _number(settings, "serveraliveinterval", usual)
    return timedelta(seconds=asked)


def _paths(tokens: Mapping[str, str], home: Path, environment: Mapping[str, str]) -> Callable[[Line], tuple[Path, ...]]:
    def paths(line: Line) -> tuple[Path, ...]:
        return tuple(one(word, line.place) for word in line.words if word.lower() != "none")

    def one(word: str, place: str) -> Path:
        for name, value in environment.items():
            word = word.replace(f"${{{name}}}", value)
        word = expand(word, tokens, place)
        return home / word[2:] if word.startswith("~/") else Path(word)

    return paths


def _agent(settings: Settings, own_path: Callable[[Line], tuple[Path, ...]], environment: Mapping[str, str]) -> str:
    line = settings.first("identityagent")
    named = line.words[0] if line and line.words else "SSH_AUTH_SOCK"
    if named == "SSH_AUTH_SOCK":
        return environment.get("SSH_AUTH_SOCK", "")
    if named.startswith("$") and not named.startswith("${"):
        return environment.get(named[1:], "")
    found = own_path(line) if line else ()
    return str(found[0]) if found else ""


def _jumps(settings: Settings, tokens: Mapping[str, str]) -> tuple[str, ...]:
    line = settings.first("proxyjump")
    if line is None or line.rest.lower() == "none":
        return ()
    return tuple(expand(word.strip(), tokens, line.place) for word in line.words[0].split(","))


def _proxy_command(settings: Settings, tokens: Mapping[str, str]) -> str:
    line = settings.first("proxycommand")
    if line is None or line.rest.lower() == "none":
        return ""
    return expand(line.rest, tokens, line.place)


def _known_hosts(
    settings: Settings, keyword: str, otherwise: tuple[str, ...], own_path: Callable[[Line], tuple[Path, ...]]
) -> tuple[Path, ...]:
    line = settings.first(keyword)
    return own_path(line or Line(keyword=keyword, rest="", words=otherwise, place="the default"))
