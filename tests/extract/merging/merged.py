"""Merging in this process, and reading back what was written with the libraries that others would use."""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from safetensors.numpy import load_file

from extract.merging.manifest import Recipe
from extract.merging.merge import Merged, merge
from extract.merging.preparing import Limits
from extract.merging.sources import Source
from extract.merging.tokenization import CorpusTokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A merged corpus as arrays, records as (ids, mask), and readable records."""

    tensors: dict[str, Any]
    records: list[tuple[list[int], list[int]]]
    readable: list[dict[str, Any]]
    manifest: dict[str, Any]


def merged(
    place: Path,
    files: Sequence[Path],
    tokenizer: CorpusTokenizer,
    *,
    seed: int = 0,
    max_tokens: int | None = None,
    min_tokens: int = 1,
    progress: Callable[[int], None] = lambda _amount: None,
) -> Merged:
    """Merge the files into `place`."""
    recipe = Recipe(tokenizer=tokenizer, limits=Limits(max_tokens=max_tokens, min_tokens=min_tokens), seed=seed)
    return merge([Source(path=file) for file in files], place, recipe, progress=progress)


def read_corpus(place: Path) -> Corpus:
    """Read everything back."""
    tensors = load_file(place / "packed.safetensors")
    bounds = tensors["offsets"].tolist()
    records = [
        (tensors["token_ids"][begin:end].tolist(), tensors["loss_mask"][begin:end].astype(np.int64).tolist())
        for begin, end in itertools.pairwise(bounds)
    ]
    with zstandard.open(place / "records.jsonl.zst", "rt", encoding="utf-8") as lines:
        readable = [json.loads(line) for line in lines]
    manifest = json.loads((place / "manifest.json").read_bytes())
    return Corpus(tensors=tensors, records=records, readable=readable, manifest=manifest)
