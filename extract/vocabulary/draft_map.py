"""The map between the target's vocabulary and the draft's (V target tokens, D draft tokens)."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice

from artifactctl.api.vocab_maps import BrokenMap
from artifactctl.domain.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftMap:
    """`used` are the target's ids in ascending order: the draft's token i is the target's token used[i]."""

    used: tuple[int, ...]
    target_size: int

    def __post_init__(self) -> None:
        if any(after <= before for before, after in zip(self.used, self.used[1:], strict=False)):
            raise BrokenMap("the draft's tokens are not in ascending order of the target's, each once")
        if not self.used or self.used[0] < 0 or self.used[-1] >= self.target_size:
            raise BrokenMap(f"the draft's tokens do not lie within the target's {self.target_size}")

    @classmethod
    def of_tensors(cls, d2t: Sequence[int], t2d: Sequence[int]) -> "DraftMap":
        """Return the map that two tensors say; BrokenMap unless nonzero(t2d) = d2t + arange(D)."""
        used = tuple(int(offset) + draft for draft, offset in enumerate(d2t))
        if [target for target, is_used in enumerate(t2d) if is_used] != list(used):
            raise BrokenMap("t2d and d2t name different tokens")
        return cls(used=used, target_size=len(t2d))

    @property
    def d2t(self) -> list[int]:
        """Offsets [D]: target id = draft id + offset."""
        return [target - draft for draft, target in enumerate(self.used)]

    @property
    def t2d(self) -> list[bool]:
        """Mask [V]: true where the target's token is one of the draft's."""
        mask = [False] * self.target_size
        for target in self.used:
            mask[target] = True
        return mask

    @property
    def content_digest(self) -> str:
        """The SHA-256 of both tensors (int64 and bool, little endian): what a trained draft depends on."""
        hasher = hashlib.sha256(b"".join(offset.to_bytes(8, "little", signed=True) for offset in self.d2t))
        hasher.update(bytes(self.t2d))
        return hasher.hexdigest()

    def lost(self, counts: Counter[int]) -> Counter[int]:
        """Return the counted tokens that the draft cannot say."""
        used = set(self.used)
        return Counter({token: number for token, number in counts.items() if token not in used})


def choose_draft(counts: Counter[int], *, draft_size: int, target_size: int) -> DraftMap:
    """Return the map of the most frequent tokens, ties by the smaller id; the lowest unseen ids fill what is left.

    UsageError when the draft would be larger than the target, or a counted token is none of the target's.
    """
    if draft_size > target_size:
        raise UsageError(
            f"a draft of {draft_size:,} tokens is larger than the target's {target_size:,}", remedy="give less"
        )
    beyond = max(counts)
    if beyond >= target_size:
        raise UsageError(
            f"the corpus has token {beyond:,}, and the target only {target_size:,}", remedy="check --target-size"
        )
    frequent = sorted(counts, key=lambda token: (-counts[token], token))[:draft_size]
    unseen = (token for token in count() if token not in counts)
    filled = [*frequent, *islice(unseen, draft_size - len(frequent))]
    return DraftMap(used=tuple(sorted(filled)), target_size=target_size)
