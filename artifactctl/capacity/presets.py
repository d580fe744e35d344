"""The target models people extract from: width, depth and vocabulary, by name or from a model's own config.json.

Widths and vocabularies are those of the published configurations; a config.json at hand always says more than a name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from artifactctl.domain.errors import UsageError
from artifactctl.domain.suggestions import did_you_mean

FEWEST_BLOCKS_FOR_DEFAULTS = 7
"""Below this depth the default boundaries [2, n//2, n-3] coincide or leave the model."""

_NESTED_TEXT_KEYS = ("text_config", "llm_config", "language_config")
_WIDTH_KEYS = ("hidden_size", "n_embd", "d_model")
_DEPTH_KEYS = ("num_hidden_layers", "n_layer", "num_layers")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What the size of a hidden state depends on. `layers` counts blocks; boundaries run from 0 to `layers`.

    Boundary 0 is the embeddings, boundary i the output of block i-1, boundary `layers` the output of the last block
    before the final norm. `vocab_size` is None where the configuration does not say.
    """

    name: str
    hidden_size: int
    layers: int
    vocab_size: int | None = None

    def __post_init__(self) -> None:
        if self.hidden_size < 1 or self.layers < 1 or (self.vocab_size is not None and self.vocab_size < 1):
            raise UsageError(
                f"model `{self.name}` has no width, no layers or no vocabulary",
                remedy="check hidden_size, num_hidden_layers and vocab_size in its config.json",
            )

    @property
    def default_boundaries(self) -> tuple[int, int, int]:
        """The three boundaries [2, n//2, n-3] that EAGLE-3 captures unless told otherwise."""
        if self.layers < FEWEST_BLOCKS_FOR_DEFAULTS:
            raise UsageError(
                f"model `{self.name}` has {self.layers} layers, too few for the default of three",
                remedy=f"name the layers, from 0 to {self.layers}: --layers 1,2",
            )
        return (2, self.layers // 2, self.layers - 3)

    @property
    def key(self) -> str:
        """What two models with equal extraction cost share, whatever they are called."""
        return f"{self.hidden_size}x{self.layers}/{self.vocab_size or 0}"


_KEY = re.compile(r"(\d+)x(\d+)/(\d+)")


def shape_of_key(key: str, *, name: str) -> ModelShape:
    """Return the shape that `ModelShape.key` gave; ValueError for other text."""
    found = _KEY.fullmatch(key)
    if found is None:
        raise ValueError(f"{key!r} is no model's shape")
    hidden_size, layers, vocab_size = map(int, found.groups())
    return ModelShape(name=name, hidden_size=hidden_size, layers=layers, vocab_size=vocab_size or None)


# name: (hidden size, blocks, vocabulary)
_SHAPES: dict[str, tuple[int, int, int]] = {
    "kimi-k2.5": (7168, 61, 163_840),
    "deepseek-v3": (7168, 61, 129_280),
    "llama-3.1-8b": (4096, 32, 128_256),
    "llama-3.1-70b": (8192, 80, 128_256),
    "qwen3-8b": (4096, 36, 151_936),
    "qwen3-32b": (5120, 64, 151_936),
    "qwen3-30b-a3b": (2048, 48, 151_936),
    "qwen3-235b-a22b": (4096, 94, 151_936),
    "qwen3-coder-480b": (6144, 62, 151_936),
    "gpt-oss-20b": (2880, 24, 201_088),
    "gpt-oss-120b": (2880, 36, 201_088),
    "glm-4.5-air": (4096, 46, 151_552),
    "glm-4.5": (5120, 92, 151_552),
    "llama-4-scout": (5120, 48, 202_048),
    "minimax-m2": (3072, 62, 200_064),
}

_ALIASES: dict[str, str] = {
    "kimi-k2": "kimi-k2.5",
    "kimi-k2.6": "kimi-k2.5",
    "kimi-k2.7": "kimi-k2.5",
    "deepseek-r1": "deepseek-v3",
    "deepseek-v3.1": "deepseek-v3",
    "llama-3.3-70b": "llama-3.1-70b",
    "qwen3-coder-480b-a35b": "qwen3-coder-480b",
    "glm-4.6": "glm-4.5",
    "llama-4-maverick": "llama-4-scout",
    "minimax-m2.5": "minimax-m2",
}

DEFAULT_PRESET = "kimi-k2.5"


def preset_names() -> tuple[str, ...]:
    """Return every name that `preset` answers to, aliases included, sorted."""
    return tuple(sorted({*_SHAPES, *_ALIASES}))


def preset(name: str) -> ModelShape:
    """Return the shape of a known model; an organisation in front and `-instruct` behind the name are ignored."""
    plain = name.rpartition("/")[2].strip().lower().replace("_", "-").removesuffix("-instruct")
    canonical = _ALIASES.get(plain, plain)
    if canonical not in _SHAPES:
        raise UsageError(
            f"no preset for the model `{name}`",
            remedy=f"give a preset, or the path of a model; {did_you_mean(plain, preset_names())}",
        )
    hidden_size, layers, vocab_size = _SHAPES[canonical]
    return ModelShape(name=plain, hidden_size=hidden_size, layers=layers, vocab_size=vocab_size)


def model_shape_from_config(config: Mapping[str, object], *, name: str) -> ModelShape:
    """Return the shape that a config.json states; multimodal models keep it in a nested `text_config`.

    `name` is what messages call the model. A draft model's config is refused: what is captured are the states of the
    target.
    """
    architectures = config.get("architectures")
    if isinstance(architectures, list) and any("eagle" in str(entry).lower() for entry in architectures):
        raise UsageError(
            f"the config of `{name}` is that of a draft model", remedy="give the config.json of the target model"
        )
    text: Mapping[str, object] = next(
        (nested for key in _NESTED_TEXT_KEYS if isinstance(nested := config.get(key), Mapping)), {}
    )
    hidden_size = _first_count(text, _WIDTH_KEYS) or _first_count(config, ("text_hidden_size", *_WIDTH_KEYS))
    layers = _first_count(text, _DEPTH_KEYS) or _first_count(config, _DEPTH_KEYS)
    if hidden_size is None or layers is None:
        missing = "hidden_size" if hidden_size is None else "num_hidden_layers"
        raise UsageError(
            f"the config of `{name}` states no usable `{missing}`, nor in a nested text_config",
            remedy="give the config.json of the target model, or a preset by name",
        )
    vocab_size = _first_count(text, ("vocab_size",)) or _first_count(config, ("vocab_size",))
    return ModelShape(name=name, hidden_size=hidden_size, layers=layers, vocab_size=vocab_size)


def _first_count(config: Mapping[str, object], keys: tuple[str, ...]) -> int | None:
    """Return the first whole number of at least one among `keys`; booleans, strings and floats are no counts."""
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
