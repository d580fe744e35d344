"""Records as torch tensors and back, without copying what torch can share.

Shape suffixes: L tokens, W elements of a row of states.
"""

from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import ElementType
from extract.requirements import need
from extract.shards.form import BITS
from extract.shards.records import StateRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIGNED = {"<u2": "<i2", "<u4": "<i4"}
_TORCH = {ElementType.BF16: "bfloat16", ElementType.FP16: "float16", ElementType.FP32: "float32"}


def torch_type(element: ElementType) -> Any:
    """Return torch's name of an element type."""
    return getattr(_torch(), _TORCH[element])


def element_of(dtype: Any) -> ElementType | None:
    """Return the element type that a torch dtype is, None for any that no shard holds."""
    return next((element for element in _TORCH if torch_type(element) == dtype), None)


def states_as_torch(states: "NDArray[Any]", element: ElementType) -> Any:
    """Return bit patterns as a floating tensor of the same shape; the memory is shared."""
    signed = states.view(_SIGNED[BITS[element]])
    return _torch().from_numpy(signed).view(torch_type(element))


def states_as_bits(tensor: Any, element: ElementType) -> "NDArray[Any]":
    """Return the bit patterns of a floating tensor; the memory is shared where it is contiguous."""
    signed = {2: _torch().int16, 4: _torch().int32}[element.element_bytes]
    bits: NDArray[Any] = tensor.contiguous().view(signed).numpy().view(BITS[element])
    return bits


def as_torch(record: StateRecord, element: ElementType) -> dict[str, Any]:
    """Return `input_ids` [L] and `loss_mask` [L] as int64 and `hidden_states` [L, W]."""
    torch = _torch()
    mask = {} if record.loss_mask is None else {"loss_mask": torch.from_numpy(record.loss_mask.astype("<i8"))}
    return {
        "input_ids": torch.from_numpy(record.token_ids),
        **mask,
        "hidden_states": states_as_torch(record.states, element),
    }


def _torch() -> Any:
    return need("torch", purpose="making torch tensors of hidden states")
