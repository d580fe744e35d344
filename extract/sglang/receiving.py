"""Takes records out of the spool, in the process that writes shards. `spool` says what a record looks like."""

import json
import mmap
import os
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import ElementType
from extract.sglang.attempts import AttemptFailed, Received
from extract.sglang.spool import DIGEST_BYTES, MAGIC, REFUSED, STATES, Spool, checksum
from extract.shards.form import BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PREAMBLE_BYTES = len(MAGIC) + 8


def take(spool: Spool, request: str) -> tuple[Received, ElementType]:
    """Return the states of a request and remove them; AttemptFailed where there are none.

    Called after the server has answered the request: by then its states are there, or will not come. They stay where
    they are in memory, without a name, until the last array of them is gone.
    """
    try:
        with open(spool.path(request, STATES), "rb") as file:
            empty = not os.fstat(file.fileno()).st_size
            content = memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError:
        raise AttemptFailed(_why_missing(spool, request), again=True) from None
    finally:
        spool.remove(request)
    return parse(content, request)


def parse(content: memoryview, request: str) -> tuple[Received, ElementType]:
    """Return what a record says, its arrays on the memory of `content`; AttemptFailed when it is torn or another's."""
    digest = checksum()
    digest.update(content[:-DIGEST_BYTES])
    if len(content) < _PREAMBLE_BYTES + DIGEST_BYTES or content[: len(MAGIC)] != MAGIC:
        raise AttemptFailed("what came through the spool is no record", again=True)
    if digest.digest() != content[-DIGEST_BYTES:]:
        raise AttemptFailed("what came through the spool does not match its checksum", again=True)
    start = _PREAMBLE_BYTES + int.from_bytes(content[len(MAGIC) : _PREAMBLE_BYTES], "little")
    header = json.loads(bytes(content[_PREAMBLE_BYTES:start]))
    if header["request"] != request:
        raise AttemptFailed(f"the record in its place is that of {header['request']}", again=True)
    return _arrays(content[start:-DIGEST_BYTES], header)


def _arrays(body: memoryview, header: dict[str, Any]) -> tuple[Received, ElementType]:
    import numpy as np

    tokens, element = int(header["tokens"]), ElementType(header["dtype"])
    count = len(header["layers"]) + bool(header["final_state"])
    ids = np.frombuffer(body, "<i4", tokens)
    states: NDArray[Any] = np.frombuffer(body, BITS[element], offset=4 * tokens)
    if states.size != count * tokens * int(header["hidden_size"]):
        raise AttemptFailed(f"{states.size} elements came for {tokens} rows of {count} states", again=True)
    rows = tuple(states.reshape(count, tokens, -1))
    layers, final = (rows[:-1], rows[-1]) if header["final_state"] else (rows, None)
    received = Received(token_ids=ids.astype("<i8"), cached=int(header["cached"]), layers=layers, final=final)
    return received, element


def _why_missing(spool: Spool, request: str) -> str:
    try:
        with open(spool.path(request, REFUSED), encoding="utf-8") as file:
            return f"the server's hook refused it: {json.load(file)['reason']}"
    except FileNotFoundError:
        return f"the server answered, and its hook left nothing in {spool.folder}"
