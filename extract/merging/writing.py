"""The last pass of a merge: from sorted entries to the members of a corpus, without the duplicates.

Members: `records.jsonl.zst` (one readable record a line, each begins with its content key), `packed.safetensors`
(`packing`), `unreadable.txt` where there is something to list, and `manifest.json`, written last.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from extract.merging.entries import Entry, unpack
from extract.merging.packing import PackedWriter
from extract.merging.tally import Drop, Tally
from extract.publishing import sync_file

RECORDS, PACKED, UNREADABLE, MANIFEST = "records.jsonl.zst", "packed.safetensors", "unreadable.txt", "manifest.json"
MEMBERS = (RECORDS, PACKED, UNREADABLE, MANIFEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What the corpus holds; `loss_tokens` are those under the loss mask."""

    records: int
    tokens: int
    loss_tokens: int


def write_members(folder: Path, ascending: Iterable[bytes], tallies: Sequence[Tally]) -> Written:
    """Write records and tensors in the order of the entries, and count what is kept and what is a duplicate."""
    packed = PackedWriter(folder)
    loss_tokens = 0
    try:
        with _compressed(folder / RECORDS) as lines:
            for entry in _without_duplicates(ascending, tallies):
                packed.add(entry)
                loss_tokens += entry.mask.count(1)
                lines.write(_line(entry))
        packed.write(folder / PACKED, metadata={"format": "artifactctl.merged_corpus/1"})
    finally:
        packed.close()
    return Written(records=packed.records, tokens=packed.tokens, loss_tokens=loss_tokens)


def _without_duplicates(ascending: Iterable[bytes], tallies: Sequence[Tally]) -> Iterator[Entry]:
    """Yield each content once, as it stood first by source and line: equal contents have equal places in the order."""
    before: Entry | None = None
    for packed in ascending:
        entry = unpack(packed)
        if before is None or entry.content_key != before.content_key:
            tallies[entry.source].kept += 1
            before = entry
            yield entry
        else:
            same = entry.mask == before.mask
            tallies[entry.source].dropped[Drop.DUPLICATE if same else Drop.DUPLICATE_OTHER_MASK] += 1


def _line(entry: Entry) -> bytes:
    head = {
        "content_key": entry.content_key.hex(),
        "source": entry.source,
        "line": entry.line,
        "tokens": entry.tokens,
        "loss_tokens": entry.mask.count(1),
    }
    return json.dumps(head).encode()[:-1] + b", " + entry.readable[1:] + b"\n"


@contextmanager
def _compressed(path: Path) -> Iterator[IO[bytes]]:
    import zstandard  # heavy for `--help`

    with open(path, "wb") as file:
        with zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(file, closefd=False) as lines:
            yield lines
        sync_file(file)


def write_manifest(folder: Path, content: dict[str, object]) -> None:
    """Write the manifest over the members that are there, durably."""
    members = [
        {"path": name, "size_bytes": (folder / name).stat().st_size}
        for name in MEMBERS
        if name != MANIFEST and (folder / name).exists()
    ]
    with open(folder / MANIFEST, "wb") as file:
        file.write(json.dumps({**content, "members": members}, indent=1).encode() + b"\n")
        sync_file(file)
