"""A draft out of a folder that a server could be given."""

from pathlib import Path

from artifactctl.domain.errors import Refused
from train.draft import DraftModel
from train.exporting.checking import check_served
from train.exporting.layer_ids import layers_of
from train.exporting.served import CONFIG, EMBEDDING, draft_config, stated_layer_ids
from train.target import FrozenTarget
from train.weights import load_weights


def load_served(folder: Path, frozen: FrozenTarget) -> DraftModel:
    """Return the draft, in float32; CheckFailed for a folder that is not as it must be.

    Refused where it is no draft of this target: the ids of its layers mean nothing without it.
    """
    content = check_served(folder)
    target = frozen.config
    for name, theirs, mine in (
        ("vocab_size", content["vocab_size"], target.vocabulary),
        ("hidden_size", content["hidden_size"], target.hidden_size),
    ):
        if theirs != mine:
            raise Refused(
                f"{folder / CONFIG} says {name} {theirs:,}, the target has {mine:,}", remedy="give the draft's target"
            )
    layers = layers_of(stated_layer_ids(content), blocks=target.blocks, architecture=target.architecture)
    config = draft_config(content, layers=layers)
    return load_weights(folder, config, frozen.embedding.float(), ignored=(EMBEDDING,))
