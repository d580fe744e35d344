"""The draft that is evaluated: a checkpoint, an export, or a folder of either kind that nobody catalogued."""

from dataclasses import dataclass
from pathlib import Path

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact, ArtifactKind
from artifactctl.domain.errors import UsageError
from extract.meant import catalogued, place_meant
from train.draft import DraftModel, initialise
from train.exporting.loading import load_served
from train.exporting.served import CONFIG
from train.fitting import require_fit
from train.target import FrozenTarget
from train.weights import SHAPE, read_draft, read_shape

_KINDS = (ArtifactKind.CHECKPOINT, ArtifactKind.DRAFT_MODEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantDraft:
    """Where the draft lies that a word means, and its artifact where the catalog knows it."""

    folder: Path
    artifact: Artifact | None


def draft_meant(session: Session, word: str) -> MeantDraft:
    """Return what a word means; UsageError when it is no draft."""
    folder = place_meant(session, word)
    name = catalogued(session, word)
    artifact = session.artifact(name) if name else None
    if artifact is not None and artifact.kind not in _KINDS:
        raise UsageError(f"{artifact.name} is a {artifact.kind.value}", remedy="name a checkpoint or a draft model")
    if not any((folder / each).is_file() for each in (SHAPE, CONFIG)):
        raise UsageError(
            f"{folder} holds no draft: neither {SHAPE} nor {CONFIG} is there",
            remedy="give a checkpoint of `train run`, or a folder of `train export`",
        )
    return MeantDraft(folder=folder, artifact=artifact)


def load_draft(meant: MeantDraft, frozen: FrozenTarget) -> DraftModel:
    """Return the draft, in float32 and for inference; Refused when it is none of this target, CheckFailed."""
    if (meant.folder / SHAPE).is_file():
        require_fit(str(meant.folder), read_shape(meant.folder), frozen.config)
        model = read_draft(meant.folder, frozen.embedding.float())
    else:
        model = load_served(meant.folder, frozen)
    return model.eval().requires_grad_(requires_grad=False)


def untrained_like(model: DraftModel) -> DraftModel:
    """Return a draft of the same shape and map with drawn weights."""
    used = [int(offset) + draft for draft, offset in enumerate(model.d2t.tolist())]
    drawn = DraftModel(model.config, used=used, embedding_VH=model.embed_tokens)
    initialise(drawn, seed=0)
    return drawn.eval().requires_grad_(requires_grad=False)
