"""What a person says about an artifact."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from artifactctl.catalog.artifact_changes import check_name
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import UsageError

STAGES: Mapping[ArtifactKind, str] = {
    ArtifactKind.RESPONSE_SET: "respond",
    ArtifactKind.MERGED_CORPUS: "merge",
    ArtifactKind.VOCAB_MAP: "vocab",
    ArtifactKind.HIDDEN_STATES: "extraction",
    ArtifactKind.CHECKPOINT: "training",
    ArtifactKind.DRAFT_MODEL: "training",
    ArtifactKind.MODEL: "other",
    ArtifactKind.OTHER: "other",
}
"""The stage whose run makes artifacts of a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a person says about an artifact. `inputs` are `NAME[:ROLE]`; `kind` None leaves it to recognition."""

    kind: ArtifactKind | None = None
    name: str = ""
    inputs: tuple[str, ...] = ()
    tokens: int | None = None
    records: int | None = None
    supersedes: str = ""
    run_time: timedelta | None = None
    cost_gpu_hours: float | None = None
    cost_usd: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, value in (("tokens", self.tokens), ("records", self.records)):
            if value is not None and value < 0:
                raise UsageError(f"{what} cannot be negative: {value}", remedy=f"--{what} N")
        if self.run_time is not None and self.run_time <= timedelta(0):
            raise UsageError("a run takes longer than no time", remedy="--run-time 19h")
        if self.name:
            check_name(self.name)

    @property
    def tells_of_a_run(self) -> bool:
        """Whether it says how long making the artifact took, or what it cost."""
        return not (self.run_time is None and self.cost_gpu_hours is None and self.cost_usd is None)
