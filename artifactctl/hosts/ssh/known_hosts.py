"""Keys pinned in known_hosts files: hashed names, patterns, `[host]:port`, `@revoked`, every type of key."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from artifactctl.hosts.ssh.failures import ConfigProblem
from artifactctl.hosts.ssh.host_keys import HostKey, parse_key
from artifactctl.hosts.ssh.patterns import matches_list

DEFAULT_PORT = 22
_HASHED = "|1|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """What the files say of one machine. `authorities` counts the certificate authorities that may speak for it."""

    keys: tuple[HostKey, ...] = ()
    revoked: tuple[HostKey, ...] = ()
    authorities: int = 0


def read_pins(files: Iterable[Path], *, host: str, port: int) -> Pins:
    """Return what the files that exist say of `host`. ConfigProblem for one that cannot be read.

    Where nothing is pinned for another port than 22, what is pinned for the name alone counts, as it does for ssh.
    """
    texts = [_text(file) for file in files]
    exact = pins_in(texts, name=host if port == DEFAULT_PORT else f"[{host}]:{port}")
    if exact.keys or port == DEFAULT_PORT:
        return exact
    plain = pins_in(texts, name=host)
    return Pins(
        keys=plain.keys,
        revoked=exact.revoked + plain.revoked,
        authorities=exact.authorities + plain.authorities,
    )


def pins_in(texts: Iterable[str], *, name: str) -> Pins:
    """Return the keys on lines that match `name`; lines that cannot be read say nothing of anybody."""
    keys: dict[HostKey, None] = {}
    revoked: dict[HostKey, None] = {}
    authorities = 0
    for marker, names, key in (found for text in texts for found in _entries(text)):
        if not _is_named(names, name.lower()):
            continue
        if marker == "@cert-authority":
            authorities += 1
        elif marker == "@revoked":
            revoked[key] = None
        elif not marker:
            keys[key] = None
    return Pins(keys=tuple(key for key in keys if key not in revoked), revoked=tuple(revoked), authorities=authorities)


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise ConfigProblem(
            f"{file}: cannot be read: {error.strerror}", remedy="make it readable; it says which keys are pinned"
        ) from error


def _entries(text: str) -> Iterator[tuple[str, str, HostKey]]:
    """Yield (marker or "", names, key) of every line that holds a key."""
    for line in text.splitlines():
        words = line.split(None, 3)
        marker = words.pop(0) if words and words[0].startswith("@") else ""
        if len(words) < 3 or words[0].startswith("#"):
            continue
        key = parse_key(f"{words[1]} {words[2].split()[0]}")
        if key is not None:
            yield marker, words[0], key


def _is_named(names: str, name: str) -> bool:
    if names.startswith(_HASHED):
        return any(_is_hash_of(each, name) for each in names.split(","))
    return matches_list(name, names.lower().split(","))


def _is_hash_of(hashed: str, name: str) -> bool:
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in hashed.removeprefix(_HASHED).split("|"))
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode("utf-8"), hashlib.sha1).digest(), digest)
