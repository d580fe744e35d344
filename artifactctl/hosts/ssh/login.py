"""Proving who we are: keys of the agent, then key files, as ssh would try them."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from artifactctl.domain.text import printable
from artifactctl.hosts.ssh.destination import Destination
from artifactctl.hosts.ssh.failures import LoginRefused, Unreachable

if TYPE_CHECKING:
    from paramiko import PKey, Transport
    from paramiko.agent import AgentSSH

AskPassphrase = Callable[[str], str]
"""Asks a person for the passphrase of the key file named; "" when they give none."""

_AGENT_SECONDS = 30


@dataclass(slots=True)
class _Tried:
    """What was tried and what could not be, for the message when nothing is left."""

    keys: list[str] = field(default_factory=list)
    locked: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)


def log_in(transport: "Transport", destination: Destination, *, ask_passphrase: AskPassphrase | None = None) -> None:
    """Return when the machine has let us in; LoginRefused names every key tried and what to do next."""
    from paramiko import AuthenticationException, SSHException
    from paramiko.ssh_exception import BadAuthenticationType

    tried = _Tried()
    agent = _agent_of(destination, tried)
    try:
        if _is_let_in_as_it_is(transport, destination):
            return
        for name, key in _keys(destination, agent, tried, ask_passphrase):
            tried.keys.append(name)
            try:
                more = transport.auth_publickey(destination.user, key)
            except BadAuthenticationType as error:
                raise _wants_other(destination, error.allowed_types) from error
            except AuthenticationException as error:
                if transport.is_active():
                    continue
                raise _hung_up(destination, tried) from error
            if more:
                raise _wants_other(destination, more)
            return
    except (SSHException, EOFError, OSError) as error:
        if not transport.is_active() and tried.keys:
            raise _hung_up(destination, tried) from error
        raise Unreachable(
            f"{destination}: the connection broke while logging in: {printable(str(error))}",
            remedy="run the command again",
        ) from error
    finally:
        if agent is not None:
            agent.close()
    raise _refused(destination, tried)


def _is_let_in_as_it_is(transport: "Transport", destination: Destination) -> bool:
    """Ask what the machine wants; some, behind a network that knows who we are, want nothing."""
    from paramiko.ssh_exception import BadAuthenticationType

    try:
        return not transport.auth_none(destination.user)
    except BadAuthenticationType as error:
        if "publickey" not in error.allowed_types:
            raise _wants_other(destination, error.allowed_types) from error
        return False


def _keys(
    destination: Destination, agent: "_Agent | None", tried: _Tried, ask_passphrase: AskPassphrase | None
) -> Iterator[tuple[str, "PKey"]]:
    """Yield (name, key) in the order of ssh: the agent's that a person named, its others, then key files."""
    in_agent = agent.keys() if agent is not None else []
    named = {blob: path for path in destination.key_files if (blob := _public_half(path)) is not None}
    in_agent.sort(key=lambda each: each[1].asbytes() not in named)
    held = set()
    for name, key in in_agent:
        blob = key.asbytes()
        if destination.identities_only and blob not in named:
            continue
        held.add(blob)
        yield f"{name} (agent)", key
    for path in destination.key_files:
        if _public_half(path) in held:
            continue
        loaded = _load(path, destination, tried, ask_passphrase)
        if loaded is not None and loaded.asbytes() not in held:
            yield str(path), loaded


def _load(path: Path, destination: Destination, tried: _Tried, ask_passphrase: AskPassphrase | None) -> "PKey | None":
    """Return the key in the file; None when there is none that can be used, which is noted."""
    from paramiko import PasswordRequiredException

    try:
        return _read_key(path, None)
    except FileNotFoundError:
        if destination.names_keys:
            tried.unusable.append(f"{path} is not there")
    except PasswordRequiredException:
        return _unlocked(path, tried, ask_passphrase)
    except (OSError, ValueError) as error:
        tried.unusable.append(f"{path}: {getattr(error, 'strerror', None) or error}")
    return None


def _unlocked(path: Path, tried: _Tried, ask_passphrase: AskPassphrase | None) -> "PKey | None":
    passphrase = ask_passphrase(str(path)) if ask_passphrase is not None else ""
    if not passphrase:
        tried.locked.append(str(path))
        return None
    try:
        return _read_key(path, passphrase)
    except (OSError, ValueError):
        tried.unusable.append(f"{path}: that is not its passphrase")
        return None


def _read_key(path: Path, passphrase: str | None) -> "PKey":
    """Return the private key; ValueError when the file holds none of a kind that is understood here."""
    from paramiko import ECDSAKey, Ed25519Key, PasswordRequiredException, RSAKey, SSHException

    for kind in (Ed25519Key, ECDSAKey, RSAKey):
        try:
            key: PKey = kind.from_private_key_file(str(path), passphrase)
        except PasswordRequiredException:
            raise
        except (SSHException, ValueError, TypeError, IndexError):
            continue
        certificate = Path(f"{path}-cert.pub")
        if certificate.is_file():
            key.load_certificate(str(certificate))
        return key
    raise ValueError("no private key of a kind that is understood here (ed25519, ecdsa, rsa)")


def _public_half(path: Path) -> bytes | None:
    """Return the public key that lies beside a key file, or in it where only that is there; None when it does not."""
    from artifactctl.hosts.ssh.host_keys import parse_key

    for candidate in (Path(f"{path}.pub"), path):
        try:
            found = parse_key(candidate.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
        if found is not None:
            return found.blob
    return None


class _Agent:
    """The keys that an ssh agent holds for us."""

    def __init__(self, agent: "AgentSSH", wire: socket.socket) -> None:
        self._agent = agent
        self._wire = wire

    def keys(self) -> list[tuple[str, "PKey"]]:
        return [(key.comment or key.get_name(), key) for key in self._agent.get_keys()]

    def close(self) -> None:
        self._wire.close()


def _agent_of(destination: Destination, tried: _Tried) -> _Agent | None:
    """Return the agent; None when there is none, or none that answers, which is noted."""
    from paramiko import SSHException
    from paramiko.agent import AgentSSH

    if not destination.agent:
        return None
    agent, wire = AgentSSH(), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    wire.settimeout(_AGENT_SECONDS)
    try:
        wire.connect(destination.agent)
        # paramiko's own Agent looks for the socket in the environment of this process.
        agent._connect(wire)  # type: ignore[attr-defined]
    except (OSError, SSHException) as error:
        wire.close()
        tried.unusable.append(f"the agent at {destination.agent} does not answer ({error})")
        return None
    return _Agent(agent, wire)


def _refused(destination: Destination, tried: _Tried) -> LoginRefused:
    who = f"{destination.user}@{destination.host}"
    notes = [f"tried {', '.join(map(printable, tried.keys))}"] if tried.keys else ["there was no key to try"]
    notes += [f"{path} is encrypted and in no agent" for path in tried.locked] + [printable(n) for n in tried.unusable]
    if tried.locked and not tried.keys:
        remedy = f"ssh-add {tried.locked[0]}"
    elif tried.keys:
        remedy = f"ssh-copy-id {who}, or name the right key as IdentityFile in ~/.ssh/config, or the right user"
    else:
        remedy = f"ssh-keygen -t ed25519, then ssh-copy-id {who}"
    return LoginRefused(f"{destination} does not let {destination.user} in: {'; '.join(notes)}", remedy=remedy)


def _hung_up(destination: Destination, tried: _Tried) -> LoginRefused:
    return LoginRefused(
        f"{destination} hung up after {len(tried.keys)} keys were tried: {', '.join(map(printable, tried.keys))}",
        remedy="name the right key in ~/.ssh/config: IdentityFile and `IdentitiesOnly yes`",
    )


def _wants_other(destination: Destination, allowed: list[str]) -> LoginRefused:
    wanted = ", ".join(map(printable, allowed))
    return LoginRefused(
        f"{destination} asks {destination.user} for {wanted}, which artifactctl cannot give",
        remedy="artifactctl logs in with a key alone: allow that for this user, or name one who may",
    )
