"""Whether what came are the states of exactly the tokens that were asked for."""

import numpy as np
import pytest

from artifactctl.api.formats import FinalState
from extract.sglang.attempts import AttemptFailed, Received, require_whole
from extract.shards.form import StatesForm

FORM = StatesForm(hidden_size=4, captured=2, layers=(1, 2), final_state=FinalState.POST)
WANTED = np.array([5, 6, 7], "<i8")


def received(ids: list[int], *, states: int = 3, rows: int = 3, width: int = 4, dtype: str = "<u2") -> Received:
    """Return states as they might come."""
    parts = [np.zeros((rows, width), dtype) for _ in range(states)]
    return Received(token_ids=np.array(ids, "<i8"), cached=0, layers=tuple(parts[:2]), final=(parts[2:] or [None])[0])


def test_states_of_these_tokens_are_whole() -> None:
    require_whole(received([5, 6, 7]), WANTED, FORM)


@pytest.mark.parametrize(
    ("came", "reason"),
    [
        (received([5, 6, 8]), "3 other tokens"),
        (received([5, 6, 7, 8]), "4 other tokens"),
        (received([5, 6]), "2 other tokens"),
        (received([6, 7]), "the last 2 of its 3 tokens came"),
        (received([5, 6, 7], states=2), "2 states came instead of 3"),
        (received([5, 6, 7], rows=2), r"\(2, 4\) instead of u2 \(3, 4\)"),
        (received([5, 6, 7], width=8), r"\(3, 8\) instead of u2 \(3, 4\)"),
        (received([5, 6, 7], dtype="<u4"), "uint32"),
    ],
)
def test_states_of_others_are_not(came: Received, reason: str) -> None:
    with pytest.raises(AttemptFailed, match=reason) as failed:
        require_whole(came, WANTED, FORM)

    assert not failed.value.again
