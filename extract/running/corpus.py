"""The records of a merged corpus by their number.

Shape suffixes: R records, L tokens of one record.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import SafetensorsHeader, TornHeader, read_header
from artifactctl.domain.errors import CheckFailed, UsageError
from extract.merging.manifest import read_merge_manifest
from extract.merging.sources import digest_of
from extract.merging.writing import MANIFEST, PACKED
from extract.running.engine import CorpusRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEY_BYTES = 32
_TYPES = {"I64": "<i8", "I32": "<i4", "BOOL": "u1", "U8": "u1"}


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
        self._descriptor = os.open(folder / PACKED, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._header = self._read_header()
            self._offsets = self._tensor("offsets", 0, None)
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
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

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
        return CorpusRecord(
            index=index, content_key=self.key(index), token_ids=self._tensor("token_ids", begin, end).astype("<i8")
        )

    def records(self, first: int, past: int) -> Iterator[CorpusRecord]:
        """Yield the records of a range as they are drawn."""
        return (self.record(index) for index in range(first, past))

    def key(self, index: int) -> bytes:
        """Return the content key of a record."""
        return self._tensor("content_keys", index * _KEY_BYTES, (index + 1) * _KEY_BYTES).tobytes()

    def loss_mask(self, index: int) -> "NDArray[Any]":
        """Return the loss mask of a record, uint8 [L]."""
        return self._tensor("loss_mask", int(self._offsets[index]), int(self._offsets[index + 1]))

    def _read_header(self) -> SafetensorsHeader:
        def read(_relative: bytes, offset: int, length: int) -> bytes:
            return os.pread(self._descriptor, length, offset)

        try:
            header = read_header(read, b"", os.fstat(self._descriptor).st_size)
        except TornHeader as torn:
            raise CheckFailed(f"{self.folder / PACKED} is torn: {torn}", remedy="merge the corpus again") from torn
        self._data_begin = header.file_bytes - max(tensor.end for tensor in header.tensors.values())
        return header

    def _require_whole(self, records: int, tokens: int) -> None:
        lengths = self.lengths()
        if len(self) != records or self.tokens != tokens or records < 1 or int(lengths.min()) < 1:
            raise CheckFailed(
                f"{self.folder} holds {len(self):,} records of {self.tokens:,} tokens, its manifest says {records:,} "
                f"of {tokens:,}",
                remedy="`artifactctl verify` says more; merge it again",
            )

    def _tensor(self, name: str, begin: int, end: int | None) -> "NDArray[Any]":
        """Return elements of a tensor, flat."""
        import numpy as np

        tensor = self._header.tensors[name]
        kind = np.dtype(_TYPES[tensor.dtype])
        last = (tensor.end - tensor.begin) // kind.itemsize if end is None else end
        length = (last - begin) * kind.itemsize
        content = os.pread(self._descriptor, length, self._data_begin + tensor.begin + begin * kind.itemsize)
        if len(content) != length:
            raise CheckFailed(f"{self.folder / PACKED} was cut off", remedy="merge the corpus again")
        return np.frombuffer(content, kind)
