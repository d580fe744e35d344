"""What one member file says about itself: tokens, records, and whether it is whole.

Scanning asks this of the files whose header is worth a read; `verify --level headers` asks it of every member. A link
is never followed, so it is not asked.
"""

import json

from artifactctl.domain.errors import HostFailure
from artifactctl.recognition import packed_shards, parquet_footer, record_files, safetensors_header, torch_archive
from artifactctl.recognition.pickled_tensors import NotPlainTensors, PickledTensor, describe
from artifactctl.recognition.seen import Read
from artifactctl.recognition.sightings import Contents

LARGEST_JSON_BYTES = 64 * 1024 * 1024
GZIP_SLACK_BYTES = 1024 * 1024
"""How much larger than its tensors a torch file may be: names, alignment, directory."""

_STATES_OF_SAMPLE = ("aux_hidden_state", "hidden_state", "hidden_states")
"""Tensors [1, L, channels] of a SpecForge sample; EAGLE-3's has the first two."""


def inspect(read: Read, relative: bytes, size_bytes: int, *, counts_records: bool = True) -> Contents:
    """Return what the header of a member says; a file that cannot be read is a problem, never silence."""
    try:
        return _inspect(read, relative, size_bytes, counts_records=counts_records)
    except HostFailure as failure:
        return Contents(problems=(f"cannot be read: {failure.message}",))


def _inspect(read: Read, relative: bytes, size_bytes: int, *, counts_records: bool) -> Contents:
    if relative.endswith(b".safetensors"):
        return _safetensors(read, relative, size_bytes)
    if relative.endswith(b".ckpt.gz"):
        return _gzipped_sample(read, relative, size_bytes)
    if relative.endswith((b".pt", b".pth", b".ckpt")):
        return _torch(read, relative, size_bytes)
    if relative.endswith(record_files.SUFFIXES):
        return _records(read, relative) if counts_records else Contents()
    if relative.endswith(b".parquet"):
        return _parquet(read, relative, size_bytes)
    if relative.endswith(b".json"):
        return _json(read, relative, size_bytes)
    return Contents()


def _safetensors(read: Read, relative: bytes, size_bytes: int) -> Contents:
    try:
        header = safetensors_header.read_header(read, relative, size_bytes)
    except safetensors_header.TornHeader as torn:
        return Contents(problems=(str(torn),))
    return tokens_of(header)


def tokens_of(header: safetensors_header.SafetensorsHeader) -> Contents:
    """Return the tokens of one shard; `tokens` is None when its tensors are not hidden states.

    speculators: `token_ids` [L] and `hidden_states` [L, layers, H]. Otherwise the rows that all floating
    two-dimensional tensors of the file share. A packed shard tells them, and its records.
    """
    if packed_shards.is_packed(header):
        return packed_shards.contents_of(header)
    ids, states = header.tensors.get("token_ids"), header.tensors.get("hidden_states")
    if ids is not None and states is not None and len(states.shape) == 3 and len(ids.shape) == 1:
        if ids.shape[0] != states.shape[0]:
            return Contents(problems=(f"it has {ids.shape[0]} token ids and states of {states.shape[0]} tokens",))
        return Contents(tokens=ids.shape[0])
    rows = {t.shape[0] for t in header.tensors.values() if t.is_floating and len(t.shape) == 2}
    return Contents(tokens=rows.pop() if len(rows) == 1 else None)


def _torch(read: Read, relative: bytes, size_bytes: int) -> Contents:
    head = read(relative, 0, len(torch_archive.LEGACY_MAGIC))
    if head == torch_archive.LEGACY_MAGIC:
        return Contents(details=(("content", "written by an old torch, not read"),))
    try:
        archive = torch_archive.open_archive(read, relative, size_bytes)
    except torch_archive.TornArchive as torn:
        return Contents(problems=(str(torn),))
    try:
        content = describe(archive.pickle)
    except NotPlainTensors:
        return Contents(details=(("content", "not plain tensors, not read"),))
    for tensor in tensors_in(content):
        if archive.sizes.get(f"data/{tensor.storage}") != tensor.storage_bytes:
            return Contents(problems=("its tensors and its directory contradict each other",))
    return _sample(content)


def _gzipped_sample(read: Read, relative: bytes, size_bytes: int) -> Contents:
    """Judge a gzipped sample by its head and by the length that gzip keeps in the last four bytes (mod 2^32)."""
    try:
        content = describe(torch_archive.pickle_at_head(torch_archive.gzip_head(read, relative)))
    except torch_archive.TornArchive as torn:
        return Contents(problems=(str(torn),))
    except NotPlainTensors:
        return Contents(problems=("its head holds no plain tensors",))
    least = sum(tensor.storage_bytes for tensor in tensors_in(content))
    unpacked = int.from_bytes(read(relative, max(0, size_bytes - 4), 4), "little")
    if (unpacked - least) % 2**32 > GZIP_SLACK_BYTES:
        return Contents(problems=("its compression ends too early",))
    return _sample(content)


def _sample(content: object) -> Contents:
    tokens = sample_tokens(content)
    if tokens is None or not isinstance(content, dict):
        return Contents()
    for name in _STATES_OF_SAMPLE:
        states = content.get(name)
        if isinstance(states, PickledTensor) and len(states.shape) > 1 and states.shape[-2] != tokens:
            return Contents(problems=(f"it has {tokens} token ids and {name} of {states.shape[-2]} tokens",))
    return Contents(tokens=tokens)


def sample_tokens(content: object) -> int | None:
    """Return the length of a SpecForge sample: its `input_ids` [L]; None for anything else."""
    if not isinstance(content, dict):
        return None
    ids = content.get("input_ids")
    states = next((content[name] for name in _STATES_OF_SAMPLE if name in content), None)
    if not isinstance(ids, PickledTensor) or not isinstance(states, PickledTensor) or not ids.shape:
        return None
    return ids.shape[-1]


def tensors_in(content: object) -> list[PickledTensor]:
    """Return every tensor in nested containers."""
    found: list[PickledTensor] = []
    pending = [content]
    while pending:
        item = pending.pop()
        if isinstance(item, PickledTensor):
            found.append(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    return found


def _records(read: Read, relative: bytes) -> Contents:
    count = record_files.count_records(read, relative)
    return Contents(records=count.records, problems=(count.problem,) if count.problem else ())


def _parquet(read: Read, relative: bytes, size_bytes: int) -> Contents:
    try:
        return Contents(records=parquet_footer.read_footer(read, relative, size_bytes).rows)
    except parquet_footer.TornFooter as torn:
        return Contents(problems=(str(torn),))


def _json(read: Read, relative: bytes, size_bytes: int) -> Contents:
    if size_bytes > LARGEST_JSON_BYTES:
        return Contents(details=(("content", "too large to be read"),))
    try:
        json.loads(read(relative, 0, size_bytes))
    except (ValueError, RecursionError):
        return Contents(problems=("it is no JSON",))
    return Contents()
