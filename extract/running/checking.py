"""The checks that every engine's outcome passes before it is written, whichever engine it is."""

from typing import TYPE_CHECKING, Any

from extract.running.engine import Computed, CorpusRecord, EngineFacts
from extract.shards.form import BITS, StatesForm
from extract.shards.records import RejectedRecord, StateRecord, require_fit

if TYPE_CHECKING:
    from numpy.typing import NDArray


def require_computable(record: CorpusRecord, facts: EngineFacts) -> None:
    """Return when the model knows every token of the record; RejectedRecord otherwise."""
    largest = int(record.token_ids.max())
    if largest >= facts.vocabulary:
        raise RejectedRecord(f"token id {largest:,} is beyond the model's vocabulary of {facts.vocabulary:,}")


def checked(record: CorpusRecord, computed: Computed, loss_mask: "NDArray[Any]", form: StatesForm) -> StateRecord:
    """Return the record to write; RejectedRecord when its states are not those of its tokens.

    Rows equal tokens, the token ids are those of the content key, every value is finite.
    """
    import numpy as np

    if computed.token_hash != record.content_key:
        raise RejectedRecord("the engine computed other token ids than those of the record")
    parts = computed.layers if computed.final is None else (*computed.layers, computed.final)
    if len(parts) != form.states:
        raise RejectedRecord(f"the engine returned {len(parts)} states a token, {form.states} were asked for")
    wanted = (record.tokens, form.hidden_size)
    for part in parts:
        if part.dtype != BITS[form.element] or part.shape != wanted:
            raise RejectedRecord(f"the engine returned {part.dtype} {part.shape}, {record.tokens} tokens need {wanted}")
    whole = StateRecord(
        index=record.index,
        token_ids=record.token_ids,
        loss_mask=loss_mask,
        states=np.concatenate(parts, axis=1),
    )
    require_fit(whole, form)
    return whole
