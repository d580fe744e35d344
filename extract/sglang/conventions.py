"""Which ids a server must be given for which hidden-state boundaries; the families of models disagree.

A boundary counts as in Hugging Face: 0 the embeddings, i the output of block i - 1. Read in sglang 0.5.23,
srt/models/*.py, `set_eagle3_layers_to_capture`; without ids every family captures [2, blocks // 2, blocks - 3].
A server with the hook shows its boundaries themselves (`hook`); over HTTP they follow from the ids that it was given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from artifactctl.domain.errors import UsageError

Boundaries = tuple[int, ...]


def default_boundaries(blocks: int) -> Boundaries:
    """Return what a server captures when it is given no ids."""
    return (2, blocks // 2, blocks - 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How one family of models reads the ids of `--return-aux-hidden-state-layer-ids`."""

    name: str
    boundaries: Callable[[Sequence[int], int], Boundaries]


def _outputs(ids: Sequence[int], blocks: int) -> Boundaries:
    return tuple(each + 1 for each in ids)


def _outputs_if_first_is_one(ids: Sequence[int], blocks: int) -> Boundaries:
    return _outputs(ids, blocks) if ids[0] == 1 else tuple(ids)


def _boundaries_if_last_is_there(ids: Sequence[int], blocks: int) -> Boundaries:
    return tuple(ids) if max(ids) == blocks else _outputs(ids, blocks)


OUTPUTS = Convention(name="ids are blocks, whose output is captured", boundaries=_outputs)
DEEPSEEK = Convention(
    name="ids are boundaries, unless the first is 1: then blocks, whose output is captured",
    boundaries=_outputs_if_first_is_one,
)
GPT_OSS = Convention(
    name="ids are blocks, whose output is captured, unless the last is the number of blocks: then boundaries",
    boundaries=_boundaries_if_last_is_there,
)

_FAMILIES = {
    OUTPUTS: (
        "ApertusForCausalLM",
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
        "Gemma3ForCausalLM",
        "Glm4MoeForCausalLM",
        "InternLM3ForCausalLM",
        "LlamaForCausalLM",
        "LongcatFlashForCausalLM",
        "MiniMaxM2ForCausalLM",
        "MistralForCausalLM",
        "Phi3ForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
        "Qwen3MoeForCausalLM",
    ),
    DEEPSEEK: (
        "DeepseekV2ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "GlmMoeDsaForCausalLM",
        "KimiK25ForConditionalGeneration",
    ),
    GPT_OSS: ("GptOssForCausalLM",),
}
_OF_ARCHITECTURE = {name: convention for convention, names in _FAMILIES.items() for name in names}


def convention_of(architectures: Sequence[str]) -> Convention | None:
    """Return the convention of a model's architecture, None for one that nobody has looked at."""
    return next((_OF_ARCHITECTURE[name] for name in architectures if name in _OF_ARCHITECTURE), None)


def captured_boundaries(ids: Sequence[int] | None, blocks: int, architectures: Sequence[str]) -> Boundaries:
    """Return what a server captures that was given these ids; UsageError where the model's family is not known."""
    if not ids:
        return default_boundaries(blocks)
    convention = convention_of(architectures)
    if convention is None:
        raise UsageError(
            f"how {' or '.join(architectures) or 'this model'} reads {list(ids)} is not known",
            remedy="start the server without --return-aux-hidden-state-layer-ids, or use --via hook, which sees them",
        )
    return convention.boundaries(ids, blocks)


def ids_for(boundaries: Boundaries, blocks: int, architectures: Sequence[str]) -> tuple[int, ...] | None:
    """Return the ids that make a server capture these boundaries; None where it needs none, or none can be said."""
    return None if boundaries == default_boundaries(blocks) else stated_ids(boundaries, blocks, architectures)


def stated_ids(boundaries: Boundaries, blocks: int, architectures: Sequence[str]) -> tuple[int, ...] | None:
    """Return the ids for these boundaries, also for the usual ones; None where none can be said."""
    convention = convention_of(architectures)
    if convention is None:
        return None
    candidates = (tuple(each - 1 for each in boundaries), boundaries)
    fitting = (ids for ids in candidates if ids[0] >= 0 and convention.boundaries(ids, blocks) == boundaries)
    return next(fitting, None)
