"""What a row of states consists of."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from artifactctl.api.formats import ElementType, FinalState

STORED_AS = {ElementType.BF16: "BF16", ElementType.FP16: "F16", ElementType.FP32: "F32"}
"""Element types that shards hold, with their names in safetensors. fp8 is lossy and has scales: no shard holds it."""

BITS = {ElementType.BF16: "<u2", ElementType.FP16: "<u2", ElementType.FP32: "<u4"}
"""The numpy type that holds one element's bit pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatesForm:
    """A row holds the captured layers, ascending, `hidden_size` elements each, then the final state if there is one.

    `layers` are hidden-state boundaries (0 the embeddings, i the output of block i - 1); None where a dump of somebody
    else's making does not say. `has_loss_mask` tells whether records carry a mask.
    """

    hidden_size: int
    captured: int
    layers: tuple[int, ...] | None = None
    final_state: FinalState = FinalState.NONE
    element: ElementType = ElementType.BF16
    has_loss_mask: bool = True

    def __post_init__(self) -> None:
        if self.hidden_size < 1 or self.states < 1 or self.captured < 0:
            raise ValueError("a row of states holds at least one state of at least one element")
        if self.layers is not None and len(self.layers) != self.captured:
            raise ValueError(f"{self.captured} captured layers cannot be the layers {self.layers}")
        if self.element not in STORED_AS:
            raise ValueError(f"no shard holds {self.element} states")

    @property
    def states(self) -> int:
        """Hidden states in a row."""
        return self.captured + (self.final_state is not FinalState.NONE)

    @property
    def width(self) -> int:
        """Elements of a row."""
        return self.states * self.hidden_size

    @property
    def row_bytes(self) -> int:
        """Bytes of a row before any codec."""
        return self.width * self.element.element_bytes

    def as_json(self) -> dict[str, object]:
        """Return the form as it stands in headers and manifests."""
        return {
            "hidden_size": self.hidden_size,
            "captured": self.captured,
            "layers": None if self.layers is None else list(self.layers),
            "final_state": self.final_state.value,
            "dtype": self.element.value,
            "loss_mask": self.has_loss_mask,
        }

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> "StatesForm":
        """Return what `as_json` wrote; ValueError, KeyError or TypeError for anything else."""
        layers = content["layers"]
        return cls(
            hidden_size=int(content["hidden_size"]),
            captured=int(content["captured"]),
            layers=None if layers is None else tuple(int(layer) for layer in layers),
            final_state=FinalState(content["final_state"]),
            element=ElementType(content["dtype"]),
            has_loss_mask=bool(content["loss_mask"]),
        )

    def __str__(self) -> str:
        return json.dumps(self.as_json(), sort_keys=True)
