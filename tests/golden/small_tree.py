"""Makes a small real tree of artifacts for the sessions: `python -m tests.golden.small_tree FOLDER`."""

import json
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

LAYERS = (2, 30, 58)
CHANNELS = 16


def shard(path: Path, *, rows: int) -> None:
    """Write hidden states of three layers in bf16, all zero, as safetensors."""
    header: dict[str, object] = {}
    end = 0
    for layer in LAYERS:
        begin, end = end, end + rows * CHANNELS * 2
        header[f"layer_{layer}"] = {"dtype": "BF16", "shape": [rows, CHANNELS], "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


def json_lines(path: Path, records: Sequence[Mapping[str, object]]) -> None:
    """Write one record a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def small_tree(top: Path) -> None:
    """Write responses, the corpus merged from them, two generations of hidden states, and a file that is nobody's."""
    answer = [{"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"}]
    json_lines(top / "responses.jsonl", [{"id": index, "messages": answer} for index in range(40)])
    json_lines(top / "corpus.jsonl", [{"input_ids": [1, 2, index], "loss_mask": [0, 1, 1]} for index in range(40)])
    for generation, shards, rows in (("hs-10k", 3, 400), ("hs-100k", 5, 1000)):
        for number in range(shards):
            shard(top / generation / f"shard-{number:05d}.safetensors", rows=rows)
    (top / "notes.txt").write_text("ask Ada\n", encoding="utf-8")


if __name__ == "__main__":
    small_tree(Path(sys.argv[1]))
