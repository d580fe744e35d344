"""How a run ends that did not go through, and what was asked of it to begin with."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from artifactctl.api.formats import Codec
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.errors import ArtifactctlError, ExitCode
from extract.shards.packing import SHARD_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What was wanted. `pause_below_bytes` and `stop_below_bytes` are free bytes; None means the volume's reserve."""

    corpus: str
    out: Path
    codec: Codec = Codec.NONE
    shard_bytes: int = SHARD_BYTES
    name: str = ""
    pause_below_bytes: int | None = None
    stop_below_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What there is at the end. `rejected` and `missing` by record number; `planned_bytes` None where nothing was left.

    `bytes_on_disk` are those of the shards; `tokens_per_second` is this worker's own, None where it computed nothing.
    """

    artifact: Artifact
    records: int
    tokens: int
    bytes_on_disk: int
    shards: int
    rejected: Mapping[int, str]
    planned_bytes: int | None
    tokens_per_second: float | None


class Stopped(ArtifactctlError):
    """The run was stopped between two shards, by a person or for lack of room; the same command goes on from there."""

    exit_code = ExitCode.PARTLY_DONE
