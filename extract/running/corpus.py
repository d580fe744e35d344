"""The records of a merged corpus by their number.

Shape suffixes: R records, L tokens of one record.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from artifactctl.domain.errors import CheckFailed, UsageError
from extract.merging.manifest import read_merge_manifest
from extract.merging.sources import digest_of
from extract.merging.writing import MANIFEST, PACKED
from extract.running.engine import CorpusRecord
from extract.shards.tensor_file import TensorFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEY_BYTES = 32


class Corpus:
    """An open corpus; a context manager. `digest` is that of its manifest, which says all that it was made of."""

    def __init__(self, folder: Path) -> None:
        manifest = read_merge_manifest(folder)
        if manifest is None:
            raise UsageError(
                f"{folder} is no merged corpus", remedy="`artifactctl extract merge` makes one out of response sets"
            )
        self.folder = folder
        self.digest = digest_of(folder / MANIFEST)
        self.tokenizer_digest = str(manifest["merge"]["tokenizer"]["digest"])
        self.template_digest = str(manifest["merge"]["template_digest"])
        self._file = TensorFile(folder / PACKED, broken=self._broken)
        try:
            self._offsets = self._file.elements("offsets")
            self._require_whole(int(manifest["records"]), int(manifest["tokens"]))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Corpus":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def tokens(self) -> int:
        """Tokens of all records."""
        return int(self._offsets[-1])

    def lengths(self) -> "NDArray[Any]":
        """Return the tokens of each record, int64 [R]."""
        lengths: NDArray[Any] = self._offsets[1:] - self._offsets[:-1]
        return lengths

    def record(self, index: int) -> CorpusRecord:
        """Return one record."""
        begin, end = int(self._offsets[index]), int(self._offsets[index + 1])
        token_ids = self._file.elements("token_ids", begin, end).astype("<i8")
        return CorpusRecord(index=index, content_key=self.key(index), token_ids=token_ids)

    def records(self, first: int, past: int) -> Iterator[CorpusRecord]:
        """Yield the records of a range as they are drawn."""
        return (self.record(index) for index in range(first, past))

    def key(self, index: int) -> bytes:
        """Return the content key of a record."""
        return self._file.elements("content_keys", index * _KEY_BYTES, (index + 1) * _KEY_BYTES).tobytes()

    def loss_mask(self, index: int) -> "NDArray[Any]":
        """Return the loss mask of a record, uint8 [L]."""
        return self._file.elements("loss_mask", int(self._offsets[index]), int(self._offsets[index + 1]))

    def _require_whole(self, records: int, tokens: int) -> None:
        lengths = self.lengths()
        if len(self) != records or self.tokens != tokens or records < 1 or int(lengths.min()) < 1:
            raise CheckFailed(
                f"{self.folder} holds {len(self):,} records of {self.tokens:,} tokens, its manifest says {records:,} "
                f"of {tokens:,}",
                remedy="`artifactctl verify` says more; merge it again",
            )

    def _broken(self, what: str) -> CheckFailed:
        return CheckFailed(f"{self.folder / PACKED} {what}", remedy="merge the corpus again")
