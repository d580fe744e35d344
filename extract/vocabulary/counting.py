"""How often each token is to be predicted: token ids under the loss mask, counted over a corpus as a stream."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from artifactctl.api.corpora import open_packed
from artifactctl.domain.errors import CheckFailed, UsageError
from extract.merging.conversations import Tokenised, UnreadableRecord, parse
from extract.merging.manifest import read_merge_manifest
from extract.merging.sources import Reading, Source, SourceRecord, digest_of, files_of
from extract.merging.writing import MANIFEST, PACKED


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """`counts` by token id; `target_vocabulary` as the corpus says it, None where it does not.

    `corpus_digest` is the SHA-256 of what lists the corpus's content: its manifest, or its files' digests.
    """

    counts: Counter[int]
    target_vocabulary: int | None
    corpus_digest: str

    @property
    def loss_tokens(self) -> int:
        """How many tokens are under the loss mask."""
        return self.counts.total()


def count_tokens(place: Path, *, progress: Callable[[int], None]) -> TokenCounts:
    """Count the learned tokens of a corpus; UsageError when there are none, CheckFailed when it cannot be read."""
    manifest = read_merge_manifest(place)
    counts = _of_packed(place / PACKED, progress) if manifest is not None else _of_records(place, progress)
    if not counts:
        raise UsageError(f"no token of {place} is under a loss mask", remedy="check the corpus")
    digest = digest_of(place / MANIFEST) if manifest is not None else _digest_of_files(place)
    said = None if manifest is None else manifest["merge"]["tokenizer"]["target_vocabulary"]
    return TokenCounts(counts=counts, target_vocabulary=said, corpus_digest=digest)


def _of_packed(path: Path, progress: Callable[[int], None]) -> Counter[int]:
    counts: Counter[int] = Counter()
    with open_packed(path) as packed:
        for record in packed.records():
            counts.update(compress(memoryview(record.ids).cast("i"), record.mask))
            progress(1)
        if packed.problems:
            raise CheckFailed(f"{path}: {packed.problems[0]}", remedy="artifactctl verify")
    return counts


def _of_records(place: Path, progress: Callable[[int], None]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for file in files_of(place):
        source = Source(path=file)
        for record in Reading(source).records():
            said = _tokenised(source, record)
            counts.update(compress(array("q", said.ids), said.mask))
            progress(1)
    return counts


def _tokenised(source: Source, record: SourceRecord) -> Tokenised:
    problem = record.problem
    if record.value is not None:
        try:
            said = parse(record.value)
        except UnreadableRecord as error:
            problem = str(error)
        else:
            if isinstance(said, Tokenised):
                return said
            problem = "it is not tokenised"
    raise CheckFailed(f"{source.label}:{record.line}: {problem}", remedy="`artifactctl extract merge` makes a corpus")


def _digest_of_files(place: Path) -> str:
    return hashlib.sha256("".join(digest_of(file) for file in files_of(place)).encode()).hexdigest()
