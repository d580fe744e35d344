"""A draft out of a folder that a server could be given."""

from pathlib import Path

from train.draft import DraftModel
from train.exporting.checking import check_served
from train.exporting.layer_ids import layers_of
from train.exporting.served import EMBEDDING, draft_config, stated_layer_ids
from train.fitting import require_width
from train.target import FrozenTarget
from train.weights import load_weights


def load_served(folder: Path, frozen: FrozenTarget) -> DraftModel:
    """Return the draft, in float32; CheckFailed for a folder that is not as it must be.

    Refused where it is no draft of this target: the ids of its layers mean nothing without it.
    """
    content = check_served(folder)
    target = frozen.config
    require_width(str(folder), target, hidden_size=content["hidden_size"], vocabulary=content["vocab_size"])
    layers = layers_of(stated_layer_ids(content), blocks=target.blocks, architecture=target.architecture)
    config = draft_config(content, layers=layers)
    return load_weights(folder, config, frozen.embedding.float(), ignored=(EMBEDDING,))
