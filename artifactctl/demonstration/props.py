"""The files of the story: hidden states, corpora, response sets, vocabulary map, and somebody's unsorted bytes.

All are what they seem (real headers, real records, a map that is consistent in itself), only without meaning: records
are short, and the hidden states of the large volume are allocated but never written.
"""

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from artifactctl.demonstration.scale import CHANNEL_BYTES, CHANNELS, LAYERS, RESPONSE_SETS, SHARDS, Scale
from artifactctl.demonstration.torch_files import Storage, write_tensor

TARGET_VOCABULARY = 163_840
DRAFT_VOCABULARY = 32_000
TOKENS_SEEN = 53_900
"""Different tokens in the corpus. With their counts the map takes 840K, as du prints it."""

HIDDEN_STATES = "hs-10k"
OLD_CORPUS = "corpus-10k.jsonl"
MERGED_CORPUS = "corpus-100k.jsonl"
VOCAB_MAP = "vocab-map"
RESPONSES = "responses"


def lay_out(volume: Path, scale: Scale) -> None:
    """Put everything in place below `volume`, which is empty."""
    _write_hidden_states(volume / HIDDEN_STATES, scale)
    _write_vocab_map(volume / VOCAB_MAP)
    _write_response_sets(volume / RESPONSES, scale.records)
    ids = (identifier for name in RESPONSE_SETS for identifier in _ids_of(name, scale.records))
    _write_corpus(volume / MERGED_CORPUS, ids)
    _write_corpus(volume / OLD_CORPUS, (f"old-{number:05d}" for number in range(scale.old_records)))
    if scale.used_bytes is not None:
        _fill_up(volume, scale.used_bytes)


def shard_name(number: int) -> str:
    """Return the file name of one shard of hidden states."""
    return f"shard-{number:05d}.safetensors"


def _write_hidden_states(folder: Path, scale: Scale) -> None:
    folder.mkdir()
    head, data_bytes = _shard_layout(scale.tokens_per_shard)
    for number in range(SHARDS):
        with open(folder / shard_name(number), "xb", buffering=0) as file:
            file.write(head)
            if scale.used_bytes is None:
                file.write(os.urandom(data_bytes))
            else:
                os.posix_fallocate(file.fileno(), 0, len(head) + data_bytes)


def _shard_layout(tokens: int) -> tuple[bytes, int]:
    """Return (length and JSON header of a safetensors file, bytes of the tensors behind it)."""
    layer_bytes = tokens * CHANNELS * CHANNEL_BYTES
    tensors = {
        f"layer_{layer}": {
            "dtype": "BF16",
            "shape": [tokens, CHANNELS],
            "data_offsets": [index * layer_bytes, (index + 1) * layer_bytes],
        }
        for index, layer in enumerate(LAYERS)
    }
    header = json.dumps(tensors).encode()
    header += b" " * (-len(header) % 8)  # tensors begin at a multiple of eight bytes
    return struct.pack("<Q", len(header)) + header, layer_bytes * len(LAYERS)


def _write_vocab_map(folder: Path) -> None:
    folder.mkdir()
    step = TARGET_VOCABULARY // DRAFT_VOCABULARY
    kept = range(0, DRAFT_VOCABULARY * step, step)
    mask = bytearray(TARGET_VOCABULARY)
    for token in kept:
        mask[token] = 1
    offsets = [token - index for index, token in enumerate(kept)]
    counts = [TARGET_VOCABULARY * 300 // (rank + 3) for rank in range(TOKENS_SEEN)]
    write_tensor(folder / "t2d.pt", Storage.BOOL, bytes(mask))
    write_tensor(folder / "d2t.pt", Storage.INT64, struct.pack(f"<{len(offsets)}q", *offsets))
    write_tensor(folder / "token_freq.pt", Storage.INT64, struct.pack(f"<{len(counts)}q", *counts))


def _ids_of(name: str, records: int) -> Iterator[str]:
    """Yield the ids of one response set: its share of all records, the first sets one more where it does not divide."""
    share, rest = divmod(records, len(RESPONSE_SETS))
    for number in range(share + (RESPONSE_SETS.index(name) < rest)):
        yield f"{name}-{number:05d}"


def _write_response_sets(folder: Path, records: int) -> None:
    folder.mkdir()
    for name in RESPONSE_SETS:
        with open(folder / f"{name}.jsonl", "x", encoding="utf-8") as file:
            for identifier in _ids_of(name, records):
                file.write(json.dumps({"id": identifier, "prompt": "Why is the sky blue?", "response": "It scatters."}))
                file.write("\n")


def _write_corpus(path: Path, ids: Iterator[str]) -> None:
    with open(path, "x", encoding="utf-8") as file:
        for identifier in ids:
            record = {"id": identifier, "input_ids": [10_983, 374, 279, 13_180], "loss_mask": [0, 0, 1, 1]}
            file.write(json.dumps(record) + "\n")


def _fill_up(volume: Path, used_bytes: int) -> None:
    """Allocate one more file so that df calls `used_bytes` used: what a volume collects over the years."""
    os.sync()
    usage = os.statvfs(volume)
    missing_bytes = used_bytes - (usage.f_blocks - usage.f_bfree) * usage.f_frsize
    (volume / "scratch").mkdir()
    with open(volume / "scratch" / "unsorted.tar", "xb") as file:
        os.posix_fallocate(file.fileno(), 0, max(missing_bytes, 4096))
