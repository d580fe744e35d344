"""What a person says something is, against what it looks like."""

from dataclasses import dataclass, replace

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.sightings import Layout, Sighting


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One artifact at `relative`. `kind` None leaves the kind to recognition (`other` where it sees none)."""

    relative: bytes
    kind: ArtifactKind | None = None

    def applied_to(self, recognised: Sighting | None, *, is_directory: bool) -> Sighting:
        """Return the sighting of the declared artifact; what was counted for another kind of thing is dropped."""
        if recognised is None:
            return Sighting(
                kind=self.kind or ArtifactKind.OTHER,
                relative=self.relative,
                is_directory=is_directory,
                layout=Layout.DECLARED,
            )
        if self.kind is None or self.kind is recognised.kind:
            return recognised
        counts_tokens = self.kind is ArtifactKind.HIDDEN_STATES
        return replace(recognised, kind=self.kind, tokens=recognised.tokens if counts_tokens else None)
