"""What rules look at: one artifact's facts as plain values, and the catalogue they belong to, at one instant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from artifactctl.domain.artifacts import ArtifactKind, LineageRole, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildFacts:
    """An artifact made from the one at hand. `living`: it has a live copy; `verified`: that copy passed `verify`."""

    name: str
    kind: ArtifactKind
    role: LineageRole
    living: bool
    verified: bool


class Facts(NamedTuple):
    """One artifact as rules see it; None and "" mean that nobody knows.

    `path` and `root` are those of its first live copy. `allocated_bytes` counts its live copies. `copies` are live
    ones, `verified_copies` those of them that passed `verify` since their last recorded change. `run` identifies the
    run that made it: the recorded run, else for a checkpoint the folder that it lies in. `run_state` is None where no
    run is recorded. `input_of_unfinished_run`: a run that has not ended reads it. `superseded` says that a successor is
    recorded, `successor_verified` that it lives and is verified. `rebuildable`: its recipe is recorded and every input
    of it lives. `complete`: its writer said that it is finished. `live`: it has a live copy and none that is moving.
    `children`: of those that share kind, role, `living` and `verified` the first by name may stand for all.

    A named tuple, since a catalogue has a million of them: a frozen dataclass takes seven times as long to come into
    being. Write the fields' names all the same.
    """

    artifact_id: int
    name: str
    kind: ArtifactKind
    created_at: datetime
    path: str = ""
    root: str = ""
    allocated_bytes: int = 0
    copies: int = 1
    verified_copies: int = 0
    live: bool = True
    complete: bool = True
    held: bool = False
    leased: bool = False
    run: str = ""
    run_state: RunState | None = None
    input_of_unfinished_run: bool = False
    superseded: bool = False
    successor: str = ""
    successor_kind: ArtifactKind | None = None
    successor_verified: bool = False
    rebuildable: bool = False
    step: int | None = None
    labels: tuple[tuple[str, str], ...] = ()
    metrics: tuple[tuple[str, float], ...] = ()
    children: tuple[ChildFacts, ...] = ()

    @property
    def tags(self) -> frozenset[str]:
        """The words of the label `tags` (separated by commas), and the labels that have no value."""
        if not any(key == "tags" or not value for key, value in self.labels):
            return frozenset()
        words = [word.strip() for key, value in self.labels if key == "tags" for word in value.split(",")]
        return frozenset(word for word in (*words, *(key for key, value in self.labels if not value)) if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueView:
    """Artifacts that have bytes somewhere, at one instant; the order of `artifacts` means nothing.

    `living` counts the artifacts with a live copy by kind, those that no policy looks at included.
    """

    artifacts: Sequence[Facts]
    taken_at: datetime
    living: Mapping[ArtifactKind, int] = field(default_factory=dict)
