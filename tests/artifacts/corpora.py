"""Response sets and merged corpora."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import zstandard


def conversations(count: int) -> list[dict[str, Any]]:
    """Return records as a server's answers are kept."""
    return [
        {"id": index, "messages": [{"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"}]}
        for index in range(count)
    ]


def tokenised(count: int) -> list[dict[str, Any]]:
    """Return records of a merged corpus."""
    return [{"input_ids": [1, 2, index], "loss_mask": [0, 1, 1]} for index in range(count)]


def json_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write JSON lines, packed when the name ends in .zst or .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = "".join(json.dumps(record) + "\n" for record in records).encode()
    if path.suffix == ".zst":
        raw = zstandard.ZstdCompressor().compress(raw)
    elif path.suffix == ".gz":
        raw = gzip.compress(raw)
    path.write_bytes(raw)
    return path


def parquet(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write a Parquet file with several row groups and nested columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), path, row_group_size=7)
    return path
