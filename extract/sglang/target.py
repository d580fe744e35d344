"""The model that a run is about, from its folder on this machine; the servers have it in memory."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from artifactctl.api.admission import ModelShape, model_shape_from_config
from artifactctl.domain.errors import UsageError
from extract.running.weights import weights_revision


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetModel:
    """`revision` identifies its weights; token ids are below `vocabulary`."""

    folder: Path
    revision: str
    shape: ModelShape
    vocabulary: int

    def is_at(self, model_path: str) -> bool:
        """Whether a server's model is this one: its weights where they are on this machine too, else its name."""
        if os.path.isdir(model_path):
            return os.path.samefile(model_path, self.folder) or weights_revision(Path(model_path)) == self.revision
        return os.path.basename(model_path.rstrip("/")).lower() == self.folder.resolve().name.lower()


def target_model(folder: Path) -> TargetModel:
    """Return the model in a folder; UsageError when its config.json does not say what is needed of it.

    A token id beyond the vocabulary ends a server (sglang 0.5.23, on a CPU), so its size must be known.
    """
    try:
        configuration = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{folder} holds no config.json that can be read",
            remedy="give --model the folder that the servers have loaded",
        ) from error
    shape = model_shape_from_config(configuration, name=folder.resolve().name)
    if not shape.vocab_size:
        raise UsageError(f"the config.json in {folder} states no vocab_size", remedy="give --model the target model")
    return TargetModel(folder=folder, revision=weights_revision(folder), shape=shape, vocabulary=shape.vocab_size)
