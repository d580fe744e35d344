"""What a run was made of: shards of one folder share it, or they are not one set."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFingerprint:
    """Digests and names of everything that decides the content; "" where it is not known, as for a foreign dump.

    `layers` are boundaries such as `2,30,58`; `norm` is which side of the final norm the last state is from, or `none`.
    `engine` is what computed them and in which element type, since no two give the same bits.
    """

    corpus: str
    tokenizer: str = ""
    template: str = ""
    model: str = ""
    model_revision: str = ""
    layers: str = ""
    norm: str = "none"
    dtype: str = "bf16"
    codec: str = "none"
    engine: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of all of it, in hex."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, str]:
        """Return it as it stands in headers and manifests."""
        return asdict(self)

    @classmethod
    def of_json(cls, content: Mapping[str, object]) -> "RunFingerprint":
        """Return what `as_json` wrote; KeyError where the corpus is not named."""
        known = {field.name: str(content[field.name]) for field in fields(cls) if field.name in content}
        return cls(**{"corpus": str(content["corpus"])} | known)

    def differences(self, other: "RunFingerprint") -> tuple[str, ...]:
        """Return in what the other one differs, in words; empty when nothing."""
        theirs = other.as_json()
        return tuple(
            f"{name} {mine or 'unknown'} here, {theirs[name] or 'unknown'} there"
            for name, mine in self.as_json().items()
            if mine != theirs[name]
        )
