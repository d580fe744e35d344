"""A corpus that `artifactctl extract merge` wrote: what its manifest claims, derived again from its members.

Per source read = kept + dropped; kept as often as the packed records name the source; offsets that cover all tokens;
content keys that are the SHA-256 of the token ids; records in the order of the seed, each content once; a loss mask
that is there for every record; readable records in the same order. Read as a stream, in pieces of bounded size.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from artifactctl.domain.text import printable
from artifactctl.recognition.manifests import LARGEST_MANIFEST_BYTES, MANIFEST_NAME
from artifactctl.recognition.packed_records import PackedRecord, PackedRecords
from artifactctl.recognition.record_files import TornRecords, chunks
from artifactctl.recognition.safetensors_header import TornHeader
from artifactctl.recognition.views import FolderView, parse_json_object

FORMAT = "artifactctl.merged_corpus/1"
PACKED, RECORDS = b"packed.safetensors", b"records.jsonl.zst"
MOST_PROBLEMS = 20
_KEY_FIELD = b'{"content_key": "'


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedSource:
    """One source as the manifest has it; `artifact` is its catalogued name at the time, "" where it had none."""

    path: str
    artifact: str
    read: int
    kept: int
    unreadable: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClaims:
    """What the manifest says of the merge."""

    records: int
    tokens: int
    loss_tokens: int
    seed: int
    sources: tuple[MergedSource, ...]


def read_claims(view: FolderView) -> MergeClaims | None:
    """Return what the manifest of a merged corpus claims; None when the folder has no such manifest."""
    size_bytes = view.files.get(MANIFEST_NAME)
    if size_bytes is None or size_bytes > LARGEST_MANIFEST_BYTES:
        return None
    content = parse_json_object(view.read, view.path(MANIFEST_NAME), size_bytes)
    merge = content.get("merge") if content is not None else None
    if content is None or not isinstance(merge, dict) or merge.get("format") != FORMAT:
        return None
    try:
        return MergeClaims(
            records=int(content["records"]),
            tokens=int(content["tokens"]),
            loss_tokens=int(merge["loss_tokens"]),
            seed=int(merge["seed"]),
            sources=tuple(_source(each) for each in merge["sources"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _source(said: dict[str, Any]) -> MergedSource:
    dropped = {str(reason): int(count) for reason, count in said["dropped"].items()}
    return MergedSource(
        path=str(said["path"]),
        artifact=str(said["artifact"] or ""),
        read=int(said["read"]),
        kept=int(said["kept"]),
        unreadable=dropped.get("unreadable", 0),
        dropped=sum(dropped.values()),
    )


def contradictions(view: FolderView, claims: MergeClaims) -> list[str]:
    """Return where the members contradict the manifest or each other."""
    problems = _counts(claims)
    size_bytes = view.files.get(PACKED)
    if size_bytes is None:
        return [*problems, f"{PACKED.decode()} is not there"]
    try:
        packed = PackedRecords(view.read, view.path(PACKED), size_bytes)
        problems += packed.against(records=claims.records, tokens=claims.tokens)
        if not problems:
            problems += _rows(packed, claims)
            problems += _readable(view, packed)
    except TornHeader as torn:
        problems.append(f"{PACKED.decode()}: {torn}")
    except TornRecords as torn:
        problems.append(f"{RECORDS.decode()}: {torn}")
    return problems[:MOST_PROBLEMS]


def _counts(claims: MergeClaims) -> list[str]:
    problems = [
        f"{printable(each.path)}: {each.read:,} records were read, {each.kept:,} kept and {each.dropped:,} dropped: "
        f"{abs(each.read - each.kept - each.dropped):,} are unaccounted for"
        for each in claims.sources
        if each.read != each.kept + each.dropped
    ]
    kept = sum(each.kept for each in claims.sources)
    if kept != claims.records:
        problems.append(f"its manifest keeps {kept:,} records of its sources and has {claims.records:,}")
    return problems


def _rows(packed: PackedRecords, claims: MergeClaims) -> list[str]:
    """Return what is wrong with the packed records; the first wrong record ends the search."""
    kept: Counter[int] = Counter()
    learned, before, number = 0, b"", 0
    for number, record in enumerate(packed.records(), start=1):
        key = claims.seed.to_bytes(8, "little", signed=True)
        place = hashlib.blake2b(record.content_key, key=key, digest_size=16).digest()
        problem = _problem_of(record, is_in_order=place > before)
        if problem:
            return [f"record {number:,}: {problem}"]
        kept[record.source] += 1
        learned += record.mask.count(1)
        before = place
    problems = list(packed.problems)
    if learned != claims.loss_tokens:
        problems.append(f"{learned:,} tokens are under its loss mask, its manifest says {claims.loss_tokens:,}")
    return problems + [
        f"{printable(each.path)}: its manifest keeps {each.kept:,} records, {kept[index]:,} are there"
        for index, each in enumerate(claims.sources)
        if kept[index] != each.kept
    ]


def _problem_of(record: PackedRecord, *, is_in_order: bool) -> str:
    if hashlib.sha256(record.ids).digest() != record.content_key:
        return "its token ids are not those of its content key"
    if not is_in_order:
        return "it is out of the order of the seed, or there twice"
    if 1 not in record.mask or record.mask.count(0) + record.mask.count(1) != len(record.mask):
        return "its loss mask is none"
    return ""


def _readable(view: FolderView, packed: PackedRecords) -> list[str]:
    """Return where the readable records are not the packed ones, in the same order."""
    if RECORDS not in view.files:
        return [f"{RECORDS.decode()} is not there"]
    keys = packed.content_keys()
    number = 0
    for number, line in enumerate(_lines(chunks(view.read, view.path(RECORDS))), start=1):
        key = next(keys, b"")
        if not line.startswith(_KEY_FIELD + key.hex().encode() + b'"') or not key:
            return [f"{RECORDS.decode()}, line {number:,}: it is not the record that is packed there"]
    left = sum(1 for _ in keys)
    return [f"{RECORDS.decode()} ends after {number:,} records, {left:,} more are packed"] if left else []


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    if rest:
        yield rest
