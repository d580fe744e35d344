"""What is captured for every token, and how it is laid out in files: all that decides the bytes of an extraction."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from artifactctl.capacity.presets import ModelShape, preset, shape_of_key
from artifactctl.domain.errors import UsageError
from artifactctl.domain.quantities import parse_layers
from artifactctl.domain.suggestions import did_you_mean

SCALE_BYTES = 4
"""An fp8 state carries one float32 scale for each token."""


class FinalState(StrEnum):
    """Whether the target's last hidden state is kept as well, and on which side of the final norm."""

    NONE = "none"
    PRE = "pre"
    POST = "post"


class ElementType(StrEnum):
    """How one channel is stored; fp8 is lossy and has a scale beside each state."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    FP8 = "fp8"

    @property
    def element_bytes(self) -> int:
        """Bytes of one channel."""
        return {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1}[self.value]


class Codec(StrEnum):
    """Lossless coding of the states; `planes` codes exponents and mantissas apart."""

    NONE = "none"
    PLANES = "planes"


_ELEMENT_ALIASES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float8": "fp8", "float8_e4m3fn": "fp8"}


def parse_element_type(text: str) -> ElementType:
    """Return the element type of `bf16`, `fp8` or a torch spelling such as `torch.bfloat16`."""
    plain = text.strip().lower().removeprefix("torch.")
    plain = _ELEMENT_ALIASES.get(plain, plain)
    if plain not in set(ElementType):
        raise UsageError(f"`{text}` is not an element type", remedy=did_you_mean(plain, list(ElementType)))
    return ElementType(plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRecipe:
    """Which states of which model are kept, and in what form. Layers are hidden-state boundaries, ascending."""

    shape: ModelShape
    layers: tuple[int, ...]
    final_state: FinalState = FinalState.NONE
    element: ElementType = ElementType.BF16
    codec: Codec = Codec.NONE

    def __post_init__(self) -> None:
        last = self.shape.layers
        if not self.layers or list(self.layers) != sorted(set(self.layers)):
            raise UsageError(
                f"the layers {self.layers} are not ascending and distinct", remedy="write --layers 2,30,58"
            )
        outside = [layer for layer in self.layers if not 0 <= layer <= last]
        if outside:
            raise UsageError(
                f"layer {outside[0]} does not exist in `{self.shape.name}`",
                remedy=f"name layers from 0 (the embeddings) to {last} (the output of the last block)",
            )
        if self.final_state is FinalState.PRE and last in self.layers:
            raise UsageError(
                f"layer {last} of `{self.shape.name}` already is its final state before the norm",
                remedy=f"leave {last} out of --layers, or use --final-state post or none",
            )

    @property
    def states(self) -> int:
        """Hidden states kept for each token."""
        return len(self.layers) + (self.final_state is not FinalState.NONE)

    @property
    def bytes_per_token(self) -> int:
        """Bytes of the states of one token before any codec, without ids and masks."""
        scale_bytes = SCALE_BYTES if self.element is ElementType.FP8 else 0
        return self.states * (self.shape.hidden_size * self.element.element_bytes + scale_bytes)

    @property
    def key(self) -> str:
        """What finished runs must share to count as the same recipe."""
        layers = ",".join(str(layer) for layer in self.layers)
        return f"extraction {self.shape.key} {layers} {self.final_state} {self.element} {self.codec}"


def recipe_from_labels(labels: Mapping[str, str]) -> ExtractionRecipe | None:
    """Return the recipe that an artifact's labels record, None where none names a known model.

    Labels: `model`, `layers`, `final_state`, `dtype`, `codec`; all but `model` have the usual defaults. `model_shape`
    (`ModelShape.key`) stands for a model that is no preset.
    """
    if "model" not in labels:
        return None
    try:
        named = labels["model"]
        shape = shape_of_key(labels["model_shape"], name=named) if "model_shape" in labels else preset(named)
        return ExtractionRecipe(
            shape=shape,
            layers=parse_layers(labels["layers"]) if "layers" in labels else shape.default_boundaries,
            final_state=FinalState(labels.get("final_state", FinalState.NONE)),
            element=parse_element_type(labels.get("dtype", ElementType.BF16)),
            codec=Codec(labels.get("codec", Codec.NONE)),
        )
    except (UsageError, ValueError):
        return None  # free-text labels of somebody else's making are not a recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLayout:
    """How tokens become files: ids and mask beside the states, and a header for each file.

    `shard_bytes` None means one file for each record. Ids need four bytes (vocabularies exceed 65,536), masks one.
    `padding` is stored tokens over real tokens where a writer stores padded batches.
    """

    id_bytes: int = 4
    mask_bytes: int = 1
    shard_bytes: int | None = 4 * 2**30
    header_bytes: int = 16 * 1024
    padding: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if min(self.id_bytes, self.mask_bytes, self.header_bytes) < 0 or self.padding < 1:
            raise UsageError("a file layout has negative bytes or padding below 1", remedy="check the layout's numbers")
        if self.shard_bytes is not None and self.shard_bytes < 2**20:
            raise UsageError(
                f"shards of {self.shard_bytes} bytes are too small", remedy="use --shard-size 1MiB or more"
            )

    @property
    def label_bytes(self) -> int:
        """Bytes of ids and mask for one token."""
        return self.id_bytes + self.mask_bytes

    def file_count(self, content_bytes: int, *, records: int | None) -> int:
        """Return the files for `content_bytes`; a layout of one file per record needs `records`."""
        if self.shard_bytes is not None:
            return max(1, -(-content_bytes // self.shard_bytes))
        if records is None:
            raise UsageError(
                "this layout writes one file for each record, and nobody said how many there are",
                remedy="plan from a corpus with --corpus NAME, which knows its records",
            )
        return max(1, records)


PACKED = FileLayout()
"""The house layout: shards of about 4 GiB, int32 ids and a byte of mask."""

SPECFORGE = FileLayout(id_bytes=8, mask_bytes=8, shard_bytes=None, header_bytes=2 * 1024)
"""One torch file for each record, int64 ids and mask."""

SPECULATORS = FileLayout(id_bytes=8, mask_bytes=0, shard_bytes=None, header_bytes=512)
"""One safetensors file for each record, int64 ids; masks live with the corpus."""
