"""What each kind of artifact is made from: whether it could be made again from the inputs that are recorded."""

from collections.abc import Collection, Mapping

from artifactctl.domain.artifacts import ArtifactKind, LineageRole

CORPORA = (ArtifactKind.MERGED_CORPUS, ArtifactKind.RESPONSE_SET)
_STATES = (ArtifactKind.HIDDEN_STATES, ArtifactKind.MERGED_CORPUS)

INGREDIENTS: Mapping[ArtifactKind, tuple[ArtifactKind, ...]] = {
    ArtifactKind.MERGED_CORPUS: CORPORA,
    ArtifactKind.VOCAB_MAP: CORPORA,
    ArtifactKind.HIDDEN_STATES: CORPORA,
    ArtifactKind.CHECKPOINT: _STATES,
    ArtifactKind.DRAFT_MODEL: (ArtifactKind.CHECKPOINT, *_STATES),
}
"""Of which kinds at least one parent must be recorded for a recipe to be one. Kinds not named here have no recipe: a
response set was sampled, a model was downloaded by somebody, and of `other` we know nothing."""

INPUT_ROLES = frozenset(LineageRole) - {LineageRole.SUPERSEDES, LineageRole.SNAPSHOT_OF}
"""The roles in which a parent is something that the artifact was made from."""


def names_its_ingredients(kind: ArtifactKind, inputs: Collection[ArtifactKind]) -> bool:
    """Return whether inputs of these kinds make a recipe for an artifact of the kind."""
    return not set(INGREDIENTS.get(kind, ())).isdisjoint(inputs)
