"""How fast shards are coded, written and read: `python -m tests.benchmarks.shards FOLDER [STATES.npy]`.

On one core, at the width of Kimi (three layers of 7,168 channels), against `zstd -1` in memory and against the founding
story's extraction, 339 tokens or 14.6 MB a second. STATES.npy holds bit patterns of real bf16 states, uint16 [T, W];
without it the ratios are those of values with a scale of their own in each channel.
"""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from artifactctl.api.formats import Codec, PlanesDecoder, PlanesEncoder
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import StatesForm
from extract.shards.packing import PackedDump, PackedWriter
from extract.shards.records import StateRecord
from extract.shards.sinks import BLOCK_BYTES
from extract.shards.writer import ShardPlan
from tests.benchmarks.turns import Contender, compare

HIDDEN, LAYERS = 7168, (2, 30, 58)
TOKENS_A_RECORD, RECORDS = 700, 24
STORY_BYTES_A_SECOND = 14.6e6
SHARD_BYTES = 2**30


def states(rows: int, width: int) -> Any:
    """Return bf16 bit patterns [rows, width] whose channels differ in scale, a few of them by much."""
    random = np.random.default_rng(0)
    scales = np.exp(random.normal(size=width)).astype(np.float32)
    scales[random.integers(0, width, 6)] *= 100
    values = random.normal(size=(rows, width)).astype(np.float32) * scales
    return (values.view(np.uint32) >> 16).astype("<u2")


def spent(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def code(sample: Any) -> None:
    """Compare the codec with zstd on blocks of the size that shards have."""
    rows = max(1, BLOCK_BYTES // (2 * sample.shape[1]))
    blocks = [np.ascontiguousarray(sample[at : at + rows]).reshape(-1).data for at in range(0, len(sample), rows)]
    encoder, decoder, general = PlanesEncoder(sample.shape[1]), PlanesDecoder(), zstandard.ZstdCompressor(level=1)
    coded = [encoder.encode(block) for block in blocks]
    plain = [general.compress(block) for block in blocks]
    megabytes = sample.nbytes // 10**6
    target = bytearray(blocks[0].nbytes)
    ratio, plain_ratio = (sum(map(len, each)) / sample.nbytes for each in (coded, plain))
    print(f"{len(sample):,} rows of {sample.shape[1]:,}: planes {ratio:.4f} of the bytes, zstd -1 {plain_ratio:.4f}")
    compare(
        Contender(name="planes", run=lambda: spent(lambda: [encoder.encode_parts(block) for block in blocks])),
        Contender(name="zstd -1", run=lambda: spent(lambda: [general.compress(block) for block in blocks])),
        items=megabytes,
    )
    whole = coded[:-1] or coded
    unpacker = zstandard.ZstdDecompressor()

    def decode_all() -> None:
        for block in whole:
            decoder.decode_into(block, target)

    compare(
        Contender(name="planes decoded", run=lambda: spent(decode_all)),
        Contender(
            name="zstd decoded", run=lambda: spent(lambda: [unpacker.decompress(each) for each in plain[: len(whole)]])
        ),
        items=len(whole) * len(target) // 10**6,
    )


def write(folder: Path, codec: Codec, records: list[StateRecord]) -> float:
    """Write a dump; return the CPU seconds, system time included."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    form = StatesForm(hidden_size=HIDDEN, captured=len(LAYERS), layers=LAYERS)
    plan = ShardPlan(form=form, fingerprint=RunFingerprint(corpus="benchmark", codec=codec.value), codec=codec)
    writer = PackedWriter(folder, plan, shard_bytes=SHARD_BYTES)

    def append_all() -> None:
        for each in records:
            writer.append(each)
        writer.finish()

    return spent(append_all)


def write_plainly(folder: Path, records: list[StateRecord]) -> float:
    """Write the same bytes into one file; return the CPU seconds."""
    folder.mkdir(parents=True, exist_ok=True)

    def append_all() -> None:
        with open(folder / "plain", "wb", buffering=0) as file:
            for each in records:
                file.write(each.states.data)

    return spent(append_all)


def read(folder: Path) -> float:
    """Read every record of a dump; return the CPU seconds."""
    dump = PackedDump(folder)
    seconds = spent(lambda: [None for _ in dump])
    dump.close()
    return seconds


def main() -> None:
    """Measure the codec, then the way to disk and back."""
    folder = Path(sys.argv[1]) / "shards-benchmark"
    sample = states(TOKENS_A_RECORD, len(LAYERS) * HIDDEN)
    code(np.load(sys.argv[2]) if len(sys.argv) > 2 else sample)
    records = [
        StateRecord(
            index=index,
            token_ids=np.arange(TOKENS_A_RECORD, dtype="<i8") + index,
            loss_mask=np.ones(TOKENS_A_RECORD, "u1"),
            states=sample,
        )
        for index in range(RECORDS)
    ]
    raw_bytes = sum(each.states.nbytes for each in records)
    plain = Contender(name="write() of the same bytes", run=lambda: write_plainly(folder, records))
    for codec in Codec:
        seconds = min(write(folder, codec, records) for _ in range(3))
        speed = raw_bytes / seconds
        print(
            f"{codec.value}: {speed / 1e6:,.0f} MB a second of CPU, {speed / STORY_BYTES_A_SECOND:.0f} times the story"
        )
        compare(
            Contender(name=f"shards, {codec.value}", run=lambda codec=codec: write(folder, codec, records)),  # type: ignore[misc]
            plain,
            items=raw_bytes // 10**6,
            rounds=3,
        )
        write(folder, codec, records)
        print(f"  read again: {raw_bytes / min(read(folder) for _ in range(3)) / 1e6:,.0f} MB a second of CPU")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
