"""Shards that `extract` packs: many records in one safetensors file, found by row offsets. What their headers promise.

Metadata `format` is `artifactctl.packed/1`; `records` and `tokens` are counts, `checksums` a JSON object of SHA-256 by
tensor. Tensors, R records of T tokens in all: `input_ids` [T], `record_offsets` [R + 1] (the rows of record r begin at
offset r), `token_hashes` [R, 32], and the states, either plain as `hidden_states` [T, width] or coded as
`hidden_states.planes` with `hidden_states.blocks`, where each block of it begins.
"""

import json

from artifactctl.recognition.safetensors_header import SafetensorsHeader, TensorSpec
from artifactctl.recognition.sightings import Contents

FORMAT = "artifactctl.packed/1"
STATES = "hidden_states"
PLANES = "hidden_states.planes"
BLOCKS = "hidden_states.blocks"
_DIGEST_BYTES = 32


def is_packed(header: SafetensorsHeader) -> bool:
    """Whether the file says that it is such a shard."""
    return header.metadata.get("format") == FORMAT


def contents_of(header: SafetensorsHeader) -> Contents:
    """Return tokens and records of a packed shard, or in what its tensors and its counts contradict each other."""
    try:
        records, tokens = int(header.metadata["records"]), int(header.metadata["tokens"])
    except (KeyError, ValueError, TypeError):
        return Contents(problems=("its header does not say how many records and tokens it holds",))
    expected = {"input_ids": (tokens,), "record_offsets": (records + 1,), "token_hashes": (records, _DIGEST_BYTES)}
    for name, shape in expected.items():
        found = header.tensors.get(name)
        if found is None or found.shape != shape:
            return Contents(problems=(f"its tensor {name} is not what {records} records of {tokens} tokens need",))
    problem = _states_problem(header.tensors, tokens)
    return Contents(problems=(problem,)) if problem else Contents(tokens=tokens, records=records)


def checksums_of(header: SafetensorsHeader) -> dict[str, str]:
    """Return the SHA-256 of each tensor's bytes in hex as its writer recorded them; empty when it did not."""
    try:
        checksums = json.loads(header.metadata.get("checksums", ""))
    except (ValueError, TypeError, RecursionError):
        return {}
    if not isinstance(checksums, dict):
        return {}
    return {name: digest for name, digest in checksums.items() if isinstance(digest, str) and name in header.tensors}


def _states_problem(tensors: dict[str, TensorSpec], tokens: int) -> str:
    plain = tensors.get(STATES)
    if plain is not None:
        return (
            "" if len(plain.shape) == 2 and plain.shape[0] == tokens else f"its states are not those of {tokens} tokens"
        )
    return "" if PLANES in tensors and BLOCKS in tensors else "it holds no states"
