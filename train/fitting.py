"""Whether a draft is one of a target, as far as shapes tell."""

from artifactctl.domain.errors import Refused
from train.draft import DraftConfig
from train.target import TargetConfig

TARGET_BLOCKS, TARGET_ARCHITECTURE = "target_blocks", "target_architecture"
"""Labels of a checkpoint: what an export has to know of the target beyond the draft's own shape."""

_REMEDY = "give the model that it was trained for"


def require_width(draft: str, target: TargetConfig, *, hidden_size: int, vocabulary: int) -> None:
    """Return when a draft speaks of as many channels and tokens as the target has; Refused, naming the draft."""
    if (hidden_size, vocabulary) != (target.hidden_size, target.vocabulary):
        raise Refused(
            f"{draft} drafts for a target of {hidden_size:,} channels and {vocabulary:,} tokens, not of "
            f"{target.hidden_size:,} and {target.vocabulary:,}",
            remedy=_REMEDY,
        )


def require_fit(draft: str, config: DraftConfig, target: TargetConfig) -> None:
    """Return when a draft can read the target's states and say its tokens; Refused, naming the draft."""
    require_width(draft, target, hidden_size=config.hidden_size, vocabulary=config.target_vocabulary)
    deepest = max(config.layers)
    if deepest > target.blocks:
        raise Refused(
            f"{draft} reads the target's states at boundary {deepest}, and the target has {target.blocks} blocks",
            remedy=_REMEDY,
        )
