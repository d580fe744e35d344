"""What the manifest of a merged corpus says beside its members: from what, how, and what became of every record.

`merge`: `format`, `seed`, `max_tokens`, `min_tokens`, `loss_tokens`, `tokenizer` (`path`, `digest`,
`target_vocabulary`), `template_digest`, `sources` in their order (`path`, `artifact`, `sha256`, `size_bytes`, `read`,
`kept`, `truncated`, `dropped` by reason). `artifactctl verify` holds all of it against the members and the catalog.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifactctl.domain.artifacts import ArtifactKind
from extract.merging.preparing import Limits
from extract.merging.sources import Source, digest_of
from extract.merging.tally import Tally
from extract.merging.tokenization import CorpusTokenizer
from extract.merging.writing import MANIFEST, Written

SCHEMA, FORMAT = "artifactctl.manifest/1", "artifactctl.merged_corpus/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What determines a corpus beside its sources' content."""

    tokenizer: CorpusTokenizer
    limits: Limits
    seed: int

    def as_json(self) -> dict[str, Any]:
        """Return it as the manifest has it."""
        return {
            "seed": self.seed,
            "max_tokens": self.limits.max_tokens,
            "min_tokens": self.limits.min_tokens,
            "tokenizer": {
                "path": text_of(self.tokenizer.path),
                "digest": self.tokenizer.digest,
                "target_vocabulary": self.tokenizer.target_vocabulary,
            },
            "template_digest": hashlib.sha256(self.tokenizer.template.encode()).hexdigest(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """One source, what its bytes were, and what became of its records."""

    source: Source
    sha256: str
    size_bytes: int
    tally: Tally

    def as_json(self) -> dict[str, Any]:
        """Return it as the manifest has it."""
        return {
            "path": text_of(self.source.path),
            "artifact": self.source.artifact or None,
            "sha256": self.sha256,
            "size_bytes": self.size_bytes,
            "read": self.tally.read,
            "kept": self.tally.kept,
            "truncated": self.tally.truncated,
            "dropped": {reason.value: count for reason, count in sorted(self.tally.dropped.items())},
        }


def manifest_of(recipe: Recipe, results: Sequence[SourceResult], written: Written) -> dict[str, Any]:
    """Return the manifest without its members."""
    return {
        "schema": SCHEMA,
        "kind": ArtifactKind.MERGED_CORPUS.value,
        "tokens": written.tokens,
        "records": written.records,
        "merge": {
            "format": FORMAT,
            **recipe.as_json(),
            "loss_tokens": written.loss_tokens,
            "sources": [result.as_json() for result in results],
        },
    }


def read_merge_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a corpus that was merged here, None when the folder is no such corpus."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or not isinstance(content.get("merge"), dict):
        return None
    return content if content["merge"].get("format") == FORMAT else None


def is_that_corpus(folder: Path, content: dict[str, Any], recipe: Recipe, sources: Sequence[Source]) -> bool:
    """Whether the corpus in the folder is complete and is what merging the sources with the recipe would give."""
    said = content["merge"]
    wanted = recipe.as_json()
    settings = ("seed", "max_tokens", "min_tokens", "template_digest")
    if any(said.get(key) != wanted[key] for key in settings):
        return False
    if said["tokenizer"]["digest"] != wanted["tokenizer"]["digest"] or len(said["sources"]) != len(sources):
        return False
    if any((folder / each["path"]).stat().st_size != each["size_bytes"] for each in content["members"]):
        return False
    return all(
        each["path"] == text_of(source.path)
        and each["size_bytes"] == source.path.stat().st_size
        and each["sha256"] == digest_of(source.path)
        for each, source in zip(said["sources"], sources, strict=True)
    )


def text_of(path: Path) -> str:
    """Return a path as the manifest has it: UTF-8 with surrogate escapes."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")
