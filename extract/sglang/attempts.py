"""What comes of asking a server for the states of one record.

Shape suffixes: L tokens of the record, H hidden size.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import FinalState
from extract.shards.form import BITS, StatesForm
from extract.shards.records import is_finite

if TYPE_CHECKING:
    from numpy.typing import NDArray


class AttemptFailed(Exception):
    """No states came; `again` says whether another attempt may bring them, `unheard` whether the server was silent."""

    def __init__(self, reason: str, *, again: bool, unheard: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.unheard = unheard


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Received:
    """States as they came: bit patterns [L, H] for each layer, ascending, and the final state where there is one.

    `token_ids` int64 [L] are those that the server ran, as it says; None where it does not say.
    """

    token_ids: "NDArray[Any] | None"
    cached: int
    layers: "tuple[NDArray[Any], ...]"
    final: "NDArray[Any] | None" = None

    @property
    def states(self) -> "tuple[NDArray[Any], ...]":
        """All of them, in the order of a row."""
        return self.layers if self.final is None else (*self.layers, self.final)


def require_whole(received: Received, token_ids: "NDArray[Any]", form: StatesForm) -> None:
    """Return when these are the states of exactly these tokens; AttemptFailed says what they are instead."""
    wanted = len(token_ids)
    if received.cached:
        _fail(f"{received.cached} of its {wanted} tokens were cached and have no states (--disable-radix-cache)")
    if (len(received.layers), received.final is not None) != (form.captured, form.final_state is not FinalState.NONE):
        _fail(f"{len(received.states)} states came instead of {form.states}")
    ran = received.token_ids
    if ran is not None and len(ran) < wanted and (ran == token_ids[-len(ran) :]).all():
        _fail(f"states of the last {len(ran)} of its {wanted} tokens came (--chunked-prefill-size -1)")
    if ran is not None and (len(ran) != wanted or (ran != token_ids).any()):
        _fail(f"states of {len(ran)} other tokens came instead of its {wanted}")
    shape = (wanted, form.hidden_size)
    for state in received.states:
        if state.shape != shape or state.dtype != BITS[form.element]:
            _fail(f"a state is {state.dtype} {state.shape} instead of {BITS[form.element].removeprefix('<')} {shape}")
        if not is_finite(state, form.element):
            _fail("its states hold values that are not finite")


def _fail(reason: str) -> None:
    raise AttemptFailed(reason, again=False)
