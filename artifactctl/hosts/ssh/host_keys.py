"""A machine's public key, its fingerprint, and what a pin of it looks like."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from artifactctl.domain.errors import UsageError
from artifactctl.domain.text import printable

ALGORITHMS: dict[str, tuple[str, ...]] = {
    "ssh-ed25519": ("ssh-ed25519",),
    "ecdsa-sha2-nistp256": ("ecdsa-sha2-nistp256",),
    "ecdsa-sha2-nistp384": ("ecdsa-sha2-nistp384",),
    "ecdsa-sha2-nistp521": ("ecdsa-sha2-nistp521",),
    "ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256"),
}
"""Type of key to the algorithms a server signs with it, in the order in which they are asked for."""

_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}=?")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKey:
    """A public key: `type` as in known_hosts, `blob` as on the wire."""

    type: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """What `ssh-keygen -l` prints of it: `SHA256:` and 43 signs of base64."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode("ascii").rstrip("=")

    @property
    def line(self) -> str:
        """Type and key in base64, as in known_hosts and in the catalog."""
        return f"{self.type} {base64.b64encode(self.blob).decode('ascii')}"

    def __str__(self) -> str:
        """Return the type and the fingerprint, for people."""
        return f"{self.type} {self.fingerprint}"


def parse_key(line: str) -> HostKey | None:
    """Return the key that `type base64` spells, None when it spells none."""
    kind, _, encoded = line.strip().partition(" ")
    try:
        blob = base64.b64decode(encoded.split(" ")[0], validate=True)
    except (binascii.Error, ValueError):
        return None
    length = int.from_bytes(blob[:4], "big")
    if not kind or blob[4 : 4 + length] != kind.encode("utf-8"):
        return None
    return HostKey(type=kind, blob=blob)


def check_fingerprint(text: str) -> str:
    """Return a fingerprint without padding; UsageError when it is none."""
    if not _FINGERPRINT.fullmatch(text):
        md5 = " (that is an MD5 fingerprint)" if text.count(":") >= 15 else ""
        raise UsageError(
            f"`{printable(text)}` is no SHA256 fingerprint{md5}",
            remedy="on the machine itself: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
        )
    return text.rstrip("=")


def algorithms_for(types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the algorithms to ask for when only keys of these types will do, each once, in our order."""
    return tuple(algorithm for kind, named in ALGORITHMS.items() if kind in types for algorithm in named)


EVERY_ALGORITHM = algorithms_for(tuple(ALGORITHMS))
