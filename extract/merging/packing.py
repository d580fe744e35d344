"""The packed half of a corpus: one safetensors file, written as a stream without knowing beforehand how long it gets.

R records, T tokens: `offsets` int64 [R+1], `lines` int64 [R], `token_ids` int32 [T], `sources` int32 [R], `loss_mask`
bool [T], `content_keys` uint8 [R, 32]. Record r has the tokens from offsets[r] up to offsets[r+1].
"""

import json
import shutil
import struct
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from artifactctl.api.corpora import PACKED_DTYPES
from extract.merging.entries import Entry
from extract.publishing import scratch_file, sync_file

_LONG = struct.Struct("<q")
_INT = struct.Struct("<i")
_COPY_BYTES = 4 * 1024 * 1024


class PackedWriter:
    """Collects the tensors in files without a name in `folder`, and puts them together at the end."""

    def __init__(self, folder: Path) -> None:
        with ExitStack() as opened:
            self._parts = {name: opened.enter_context(scratch_file(folder)) for name in PACKED_DTYPES}
            self._opened = opened.pop_all()
        self._parts["offsets"].write(_LONG.pack(0))
        self.records = 0
        self.tokens = 0

    def add(self, entry: Entry) -> None:
        """Append one record."""
        self.records += 1
        self.tokens += entry.tokens
        self._parts["offsets"].write(_LONG.pack(self.tokens))
        self._parts["lines"].write(_LONG.pack(entry.line))
        self._parts["token_ids"].write(entry.ids)
        self._parts["sources"].write(_INT.pack(entry.source))
        self._parts["loss_mask"].write(entry.mask)
        self._parts["content_keys"].write(entry.content_key)

    def write(self, path: Path, *, metadata: Mapping[str, str]) -> None:
        """Write the file, durably."""
        header = self._header(metadata)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            for part in self._parts.values():
                part.seek(0)
                shutil.copyfileobj(part, file, _COPY_BYTES)
            sync_file(file)

    def close(self) -> None:
        """Give the scratch files' bytes back, those of all of them also where one cannot be flushed any more."""
        self._opened.close()

    def _header(self, metadata: Mapping[str, str]) -> bytes:
        shapes = {
            "offsets": [self.records + 1],
            "lines": [self.records],
            "token_ids": [self.tokens],
            "sources": [self.records],
            "loss_mask": [self.tokens],
            "content_keys": [self.records, 32],
        }
        content: dict[str, object] = {"__metadata__": dict(metadata)}
        begin = 0
        for name, part in self._parts.items():
            end = begin + part.tell()
            content[name] = {"dtype": PACKED_DTYPES[name], "shape": shapes[name], "data_offsets": [begin, end]}
            begin = end
        text = json.dumps(content).encode()
        return text + b" " * (-len(text) % 8)
