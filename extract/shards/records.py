"""A record and what it must satisfy before it is written.

Shape suffixes: L tokens of one record, W elements of a row of states.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import ElementType
from extract.shards.form import BITS, StatesForm

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_TOKEN_ID = 2**31 - 1

_EXPONENT_BITS = {ElementType.BF16: 0x7F80, ElementType.FP16: 0x7C00, ElementType.FP32: 0x7F800000}
_STRIPE_ELEMENTS = 2**18


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateRecord:
    """One sample: `token_ids` int64 [L], `loss_mask` uint8 [L] or None, `states` bit patterns [L, W].

    `index` is its number in the corpus, or in the dump it came from.
    """

    index: int
    token_ids: "NDArray[Any]"
    loss_mask: "NDArray[Any] | None"
    states: "NDArray[Any]"

    @property
    def tokens(self) -> int:
        """How many tokens it has."""
        return len(self.token_ids)

    def is_same_as(self, other: "StateRecord") -> bool:
        """Whether ids, mask and states are equal bit for bit."""
        pairs = ((self.token_ids, other.token_ids), (self.loss_mask, other.loss_mask), (self.states, other.states))
        return all(
            mine is theirs if mine is None or theirs is None else mine.shape == theirs.shape and (mine == theirs).all()
            for mine, theirs in pairs
        )


class RejectedRecord(ValueError):
    """The record is not fit to be written; the message says why."""


def token_hash(token_ids: "NDArray[Any]") -> bytes:
    """Return the content key of a record, the same as in its corpus: SHA-256 of its ids as little-endian int32."""
    return hashlib.sha256(token_ids.astype("<i4").tobytes()).digest()


def require_fit(record: StateRecord, form: StatesForm) -> None:
    """Return when the record has the form and only finite values; RejectedRecord otherwise."""
    if record.token_ids.ndim != 1 or record.tokens == 0:
        raise RejectedRecord("it has no tokens")
    if record.states.dtype != BITS[form.element] or record.states.shape != (record.tokens, form.width):
        raise RejectedRecord(
            f"its states are {record.states.dtype} {record.states.shape}, {record.tokens} tokens need "
            f"{BITS[form.element].removeprefix('<')} {(record.tokens, form.width)}"
        )
    if (record.loss_mask is None) is form.has_loss_mask:
        raise RejectedRecord(
            "it has no loss mask" if form.has_loss_mask else "it has a loss mask, the others have none"
        )
    if record.loss_mask is not None and record.loss_mask.shape != record.token_ids.shape:
        raise RejectedRecord(f"its loss mask covers {len(record.loss_mask)} of {record.tokens} tokens")
    if record.loss_mask is not None and record.loss_mask.max() > 1:
        raise RejectedRecord("its loss mask holds other values than 0 and 1")
    if record.token_ids.min() < 0 or record.token_ids.max() > LARGEST_TOKEN_ID:
        raise RejectedRecord("a token id is negative or beyond 31 bits")
    if not is_finite(record.states, form.element):
        raise RejectedRecord("its states hold values that are not finite")


def is_finite(states_LW: "NDArray[Any]", element: ElementType) -> bool:
    """Whether no bit pattern is an infinity or a NaN."""
    exponent = states_LW.dtype.type(_EXPONENT_BITS[element])
    flat = states_LW.reshape(-1)
    return all(
        (flat[at : at + _STRIPE_ELEMENTS] & exponent).max() < exponent for at in range(0, flat.size, _STRIPE_ELEMENTS)
    )
