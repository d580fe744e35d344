"""Response sets as records: JSON lines (plain, zstandard, gzip) and Parquet, streamed, with the place of each record.

A record is a line that is not blank, or a row. What is no JSON object is a record too, one that cannot be read. A file
that ends in the middle of its compression, or changes while it is read, has no count of records: SourceTorn.
"""

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.text import display_path
from extract.publishing import listed_names
from extract.requirements import need

LINE_SUFFIXES = (".jsonl", ".jsonl.zst", ".jsonl.gz")
SUFFIXES = (*LINE_SUFFIXES, ".parquet")
LONGEST_LINE_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_PACKED_PIECE_BYTES = 16 * 1024
_ROWS = 256


class SourceTorn(Refused):
    """How many records a source holds cannot be said, so no count could reconcile; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file. `artifact` is the catalogued response set that it belongs to, "" where the catalog knows none."""

    path: Path
    artifact: str = ""

    @property
    def label(self) -> str:
        """The path as people see it."""
        return display_path(os.fsencode(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """One record at a line (or row) counted from 1; `value` is None where it cannot be read: `problem` says why."""

    line: int
    value: dict[str, Any] | None
    problem: str = ""


@dataclass(slots=True)
class Reading:
    """One pass over a source; `sha256` and `size_bytes` of its bytes hold when the pass has ended."""

    source: Source
    sha256: str = ""
    size_bytes: int = 0

    def records(self) -> Iterator[SourceRecord]:
        """Yield every record in order; SourceTorn when the file does not end where it should."""
        path = self.source.path
        with open(path, "rb") as file:
            before = os.fstat(file.fileno())
            if path.name.endswith(".parquet"):
                self.sha256 = _digest(file)
                yield from _rows(self.source, file)
            else:
                yield from self._lines(file)
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise _torn(self.source, "it changed while it was read", "wait until it is complete")
        self.size_bytes = after.st_size

    def _lines(self, file: BinaryIO) -> Iterator[SourceRecord]:
        hasher = hashlib.sha256()
        try:
            for number, line in enumerate(_split(_unpacked(self.source, _hashed(file, hasher))), start=1):
                if line.strip():
                    yield _record(number, line)
        except (EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
            raise _torn(self.source, str(error), "repair or make it again, or leave it out") from error
        self.sha256 = hasher.hexdigest()


def files_of(path: Path) -> list[Path]:
    """Return the corpus files that a path means: itself, or those in the folder by name; UsageError when none."""
    if path.is_dir():
        found = [path / name for name in listed_names(path) if name.endswith(SUFFIXES)]
        if not found:
            raise UsageError(f"{path} holds no .jsonl, .jsonl.zst, .jsonl.gz or .parquet file", remedy="check the path")
        return found
    if not path.is_file():
        raise UsageError(f"nothing is at {path}", remedy="name a file, a folder or a catalogued response set")
    if not path.name.endswith(SUFFIXES):
        raise UsageError(
            f"{path} is no corpus file by its name", remedy="the name ends in .jsonl, .jsonl.zst, .jsonl.gz or .parquet"
        )
    return [path]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of the file's bytes."""
    with open(path, "rb") as file:
        return _digest(file)


def _digest(file: BinaryIO) -> str:
    hasher = hashlib.sha256()
    for _chunk in _hashed(file, hasher):
        pass
    file.seek(0)
    return hasher.hexdigest()


def _record(number: int, line: bytes) -> SourceRecord:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return SourceRecord(line=number, value=None, problem="it is no JSON")
    if not isinstance(value, dict):
        return SourceRecord(line=number, value=None, problem="it is no JSON object")
    return SourceRecord(line=number, value=value)


def _rows(source: Source, file: BinaryIO) -> Iterator[SourceRecord]:
    arrow = need("pyarrow", purpose="reading Parquet")
    parquet = need("pyarrow.parquet", purpose="reading Parquet")
    number = 0
    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=_ROWS):
            for value in batch.to_pylist():
                number += 1
                yield SourceRecord(line=number, value={key: item for key, item in value.items() if item is not None})
    except (arrow.ArrowException, OSError) as error:
        raise _torn(source, f"no Parquet after row {number}: {error}", "make it again, or leave it out") from error


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines; the last one need not end in a line feed."""
    rest: list[bytes] = []
    length = 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest.append(first)
        length += len(first)
        if length > LONGEST_LINE_BYTES:
            raise ValueError(f"a line is longer than {LONGEST_LINE_BYTES} bytes")
        if others:
            yield b"".join(rest)
            yield from others[:-1]
            rest, length = [others[-1]], len(others[-1])
    if length:
        yield b"".join(rest)


def _hashed(file: BinaryIO, hasher: "hashlib._Hash") -> Iterator[bytes]:
    """Yield the bytes that the file has now: one that grows as fast as it is read would never end."""
    left = os.fstat(file.fileno()).st_size
    while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
        hasher.update(chunk)
        left -= len(chunk)
        yield chunk


def _unpacked(source: Source, chunks: Iterator[bytes]) -> Iterator[bytes]:
    if source.path.name.endswith(".zst"):
        return _unpacked_zstandard(chunks)
    if source.path.name.endswith(".gz"):
        return _unpacked_gzip(chunks)
    return chunks


def _unpacked_zstandard(chunks: Iterator[bytes]) -> Iterator[bytes]:
    import zstandard  # heavy for `--help`

    make = zstandard.ZstdDecompressor().decompressobj
    unpacker = make()
    fresh = True
    for chunk in chunks:
        for begin in range(0, len(chunk), _PACKED_PIECE_BYTES):
            pending = chunk[begin : begin + _PACKED_PIECE_BYTES]
            while pending:
                if unpacker.eof:
                    unpacker = make()
                try:
                    yield unpacker.decompress(pending)
                except zstandard.ZstdError as error:
                    raise ValueError("its compression is damaged") from error
                fresh = False
                pending = unpacker.unused_data if unpacker.eof else b""
    if not fresh and not unpacker.eof:
        raise EOFError("its compression ends too early")


def _unpacked_gzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    fresh = True
    for chunk in chunks:
        pending = chunk
        while pending:
            if unpacker.eof:
                unpacker = zlib.decompressobj(wbits=31)
            yield unpacker.decompress(pending, 4 * _CHUNK_BYTES)
            fresh = False
            pending = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    if not fresh and not unpacker.eof:
        raise EOFError("its compression ends too early")


def _torn(source: Source, problem: str, remedy: str) -> SourceTorn:
    return SourceTorn(f"{source.label}: {problem}; how many records it holds is not known", remedy=remedy)
