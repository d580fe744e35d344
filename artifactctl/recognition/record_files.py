"""Corpora in JSON lines (plain, zstandard or gzip): what the first record is, and how many there are.

Counting streams the file once: a record is a line that is not blank. Files above `LARGEST_COUNTED_BYTES` on disk are
not counted during a scan (their number of records is unknown, and says so); `verify` counts them.
"""

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.recognition.seen import Read

LARGEST_COUNTED_BYTES = 1024 * 1024 * 1024
LONGEST_FIRST_RECORD_BYTES = 8 * 1024 * 1024
SUFFIXES = (b".jsonl", b".jsonl.zst", b".jsonl.gz")

_CHUNK_BYTES = 1024 * 1024
_UNPACKED_BYTES = 4 * 1024 * 1024
_ZSTANDARD_PIECE_BYTES = 2048  # a hostile piece of this size unpacks to at most 64 MiB (128 KiB for 4 bytes)
_BLANK = b" \t\r\n"

CONVERSATION_KEYS = frozenset({
    "messages", "conversations", "conversation", "dialog", "dialogue", "turns", "prompt", "prompts", "response",
    "responses", "completion", "completions", "answer", "question", "query", "instruction", "input", "output",
    "outputs", "text", "content", "source", "target", "chosen", "rejected", "reasoning", "generated",
    "generated_text", "generation", "prediction", "problem", "solution", "user", "assistant", "samples",
})  # fmt: skip
"""A record with none of these keys is a log or a table, not a response."""


class TornRecords(ValueError):
    """The file ends in the middle of a record or of its compression, or its first line is no JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCount:
    """How many records were read before the end, or before `problem`."""

    records: int
    problem: str = ""


def kind_of_columns(columns: frozenset[str]) -> ArtifactKind | None:
    """Return what a corpus with these columns is; None when it is no corpus."""
    if {"input_ids", "loss_mask"} <= columns:
        return ArtifactKind.MERGED_CORPUS
    if columns & CONVERSATION_KEYS or "input_ids" in columns:
        return ArtifactKind.RESPONSE_SET
    return None


def first_record_columns(read: Read, relative: bytes) -> frozenset[str]:
    """Return the keys of the first record; TornRecords when the file does not begin with a JSON object."""
    head = b""
    for chunk in chunks(read, relative):
        head += chunk
        line, newline, _rest = head.lstrip(_BLANK).partition(b"\n")
        if newline or len(head) > LONGEST_FIRST_RECORD_BYTES:
            return _columns(line)
    return _columns(head.strip(_BLANK))


def _columns(line: bytes) -> frozenset[str]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TornRecords("its first line is no JSON") from error
    if not isinstance(record, dict):
        raise TornRecords("its first line is no JSON object")
    return frozenset(record)


def count_records(read: Read, relative: bytes) -> RecordCount:
    """Return the number of non-blank lines; a last line that is cut off is a problem and does not count."""
    records = 0
    rest = b""
    try:
        for chunk in chunks(read, relative):
            whole, newline, tail = (rest + chunk).rpartition(b"\n")
            if newline:
                records += _non_blank_lines(whole)
            rest = tail if newline else rest + chunk
    except TornRecords as error:
        return RecordCount(records=records, problem=str(error))
    if not rest.strip(_BLANK):
        return RecordCount(records=records)
    if _is_json(rest):
        return RecordCount(records=records + 1)
    return RecordCount(records=records, problem="it ends in the middle of a record")


def _non_blank_lines(whole: bytes) -> int:
    if b"\n\n" not in whole and b"\n\r" not in whole and whole.strip(_BLANK) and whole[:1] not in (b"\n", b"\r"):
        return whole.count(b"\n") + 1
    return sum(1 for line in whole.split(b"\n") if line.strip(_BLANK))


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def chunks(read: Read, relative: bytes) -> Iterator[bytes]:
    """Yield the file's bytes in order, unpacked when its name ends in .zst or .gz; TornRecords when cut off."""
    if relative.endswith(b".zst"):
        yield from _unpack_zstandard(read, relative)
    elif relative.endswith(b".gz"):
        yield from _unpack_gzip(read, relative)
    else:
        yield from _raw(read, relative)


def _raw(read: Read, relative: bytes) -> Iterator[bytes]:
    offset = 0
    while chunk := read(relative, offset, _CHUNK_BYTES):
        yield chunk
        offset += len(chunk)


def _unpack_gzip(read: Read, relative: bytes) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        for packed in _raw(read, relative):
            pending = packed
            while pending:
                if unpacker.eof:
                    unpacker = zlib.decompressobj(wbits=31)
                yield unpacker.decompress(pending, _UNPACKED_BYTES)
                pending = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    except zlib.error as error:
        raise TornRecords("its compression is damaged") from error
    if not unpacker.eof:
        raise TornRecords("its compression ends too early")


def _unpack_zstandard(read: Read, relative: bytes) -> Iterator[bytes]:
    import zstandard  # heavy for `--help`; needed for this one format

    unpacker = zstandard.ZstdDecompressor().decompressobj()
    try:
        for packed in _raw(read, relative):
            for begin in range(0, len(packed), _ZSTANDARD_PIECE_BYTES):
                pending = packed[begin : begin + _ZSTANDARD_PIECE_BYTES]
                while pending:
                    if unpacker.eof:
                        unpacker = zstandard.ZstdDecompressor().decompressobj()
                    yield unpacker.decompress(pending)
                    pending = unpacker.unused_data if unpacker.eof else b""
    except zstandard.ZstdError as error:
        raise TornRecords("its compression is damaged") from error
    if not unpacker.eof:
        raise TornRecords("its compression ends too early")
