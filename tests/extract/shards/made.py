"""Records, forms and plans for tests: small, and of the statistics that hidden states have."""

import json
import struct
from pathlib import Path

import numpy as np

from artifactctl.api.formats import Codec, ElementType, FinalState
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import BITS, StatesForm
from extract.shards.packing import PackedWriter
from extract.shards.records import StateRecord
from extract.shards.writer import ShardPlan

HIDDEN = 8
LENGTHS = (5, 1, 300, 17, 64)

FORM = StatesForm(hidden_size=HIDDEN, captured=3, layers=(2, 15, 27), final_state=FinalState.POST)
FINGERPRINT = RunFingerprint(corpus="sha256:1", model="tiny", layers="2,15,27", norm="post")


def bits(rows: int, width: int, seed: int = 0, element: ElementType = ElementType.BF16) -> np.ndarray:
    """Return finite bit patterns [rows, width]; each column has a scale of its own."""
    random = np.random.default_rng(seed)
    scales = np.exp(random.normal(size=width)).astype(np.float32)
    values = random.normal(size=(rows, width)).astype(np.float32) * scales
    if element is ElementType.BF16:
        return (values.view(np.uint32) >> 16).astype("<u2")
    return values.astype("<f2" if element is ElementType.FP16 else "<f4").view(BITS[element])


def record(index: int, tokens: int, form: StatesForm = FORM) -> StateRecord:
    """Return one record whose content follows from its index."""
    random = np.random.default_rng(index + 1)
    return StateRecord(
        index=index,
        token_ids=random.integers(0, 163_840, tokens).astype("<i8"),
        loss_mask=random.integers(0, 2, tokens).astype("u1") if form.has_loss_mask else None,
        states=bits(tokens, form.width, index, form.element),
    )


def records(lengths: tuple[int, ...] = LENGTHS, form: StatesForm = FORM) -> list[StateRecord]:
    """Return one record a length."""
    return [record(index, tokens, form) for index, tokens in enumerate(lengths)]


def plan(codec: Codec = Codec.NONE, form: StatesForm = FORM, **facts: str) -> ShardPlan:
    """Return a plan; `facts` change its fingerprint."""
    fingerprint = RunFingerprint(**(FINGERPRINT.as_json() | {"codec": codec.value} | facts))
    return ShardPlan(form=form, fingerprint=fingerprint, codec=codec)


def writer(folder: Path, planned: ShardPlan, *, prefix: str = "shard") -> PackedWriter:
    """Return a writer of shards of 16 MiB: their room is allocated, and tests write into memory."""
    return PackedWriter(folder, planned, shard_bytes=16 * 2**20, prefix=prefix)


def packed(
    folder: Path,
    made: list[StateRecord],
    *,
    codec: Codec = Codec.NONE,
    form: StatesForm = FORM,
    shard_bytes: int = 2**20,
) -> Path:
    """Write a complete packed dump."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = PackedWriter(folder, plan(codec, form), shard_bytes=shard_bytes)
    for each in made:
        writer.append(each)
    writer.finish()
    return folder


def rewrite_metadata(path: Path, **changes: str | None) -> None:
    """Change what a shard's header says of itself, in the space that it has; None takes a key away."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    kept = header["__metadata__"] | changes
    header["__metadata__"] = {name: value for name, value in kept.items() if value is not None}
    path.write_bytes(content[:8] + json.dumps(header).encode().ljust(length) + content[8 + length :])
