"""What was recognised, as a value."""

from dataclasses import dataclass
from enum import StrEnum

from artifactctl.domain.artifacts import ArtifactKind


class Layout(StrEnum):
    """How the bytes of an artifact are arranged on disk; the words are shown to people and kept in the catalog."""

    SAFETENSORS = "safetensors shards"
    SPECFORGE_DUMP = "specforge dump"
    SPECULATORS_DUMP = "speculators dump"
    VOCAB_MAP = "vocab map"
    JSON_LINES = "json lines"
    PARQUET = "parquet"
    ARROW_DATASET = "arrow dataset"
    HUGGING_FACE = "hugging face folder"
    HUB_CACHE = "hub cache"
    LIGHTNING = "lightning checkpoint"
    DEEPSPEED = "deepspeed checkpoint"
    DISTRIBUTED = "torch distributed checkpoint"
    SPECFORGE_TRAINING = "specforge training state"
    TORCH_FILE = "torch file"
    GGUF = "gguf"
    MANIFEST = "artifactctl manifest"
    DECLARED = "declared"  # a person said what it is; every file below is its member


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One artifact as found: a folder, or a single file when `is_directory` is false.

    `tokens` and `records` are None where they are unknown; `details` says why. `problems` name members that are torn,
    unreadable or missing. `unfinished` is set while something is still being written into it. `member_tokens` holds
    (path relative to the artifact, tokens) of the members whose headers were read.
    """

    kind: ArtifactKind
    relative: bytes
    is_directory: bool
    layout: Layout
    tokens: int | None = None
    records: int | None = None
    details: tuple[tuple[str, str], ...] = ()
    metrics: tuple[tuple[str, float], ...] = ()
    problems: tuple[str, ...] = ()
    unfinished: bool = False
    member_tokens: tuple[tuple[bytes, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What one file's header says. `tokens` and `records` are None where the file does not tell or was not read."""

    tokens: int | None = None
    records: int | None = None
    problems: tuple[str, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
