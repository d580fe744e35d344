"""What the writer of a shard said about its bytes, against the bytes: proof for a file that nobody has hashed yet."""

import hashlib
from collections.abc import Callable

from artifactctl.hosts.protocol import Host
from artifactctl.recognition.packed_shards import checksums_of, is_packed
from artifactctl.recognition.safetensors_header import TornHeader, read_header

_CHUNK_BYTES = 4 * 2**20


def changed_tensors(
    host: Host, path: bytes, size_bytes: int, *, progress: Callable[[int], None] | None = None
) -> tuple[str, ...]:
    """Return a problem for every tensor whose bytes are not those that were written; () where nobody recorded any.

    Reads the whole file through `host`, so it is asked of files on this machine only.
    """
    if not path.endswith(b".safetensors"):
        return ()
    try:
        header = read_header(host.read_range, path, size_bytes)
    except TornHeader:
        return ()  # the level below has named it
    if not is_packed(header):
        return ()
    data_begin = header.file_bytes - max((tensor.end for tensor in header.tensors.values()), default=0)
    changed = []
    for name, expected in checksums_of(header).items():
        tensor, digest = header.tensors[name], hashlib.sha256()
        for at in range(tensor.begin, tensor.end, _CHUNK_BYTES):
            digest.update(host.read_range(path, data_begin + at, min(_CHUNK_BYTES, tensor.end - at)))
        if progress is not None:
            progress(tensor.end - tensor.begin)
        if digest.hexdigest() != expected:
            changed.append(f"the bytes of its tensor {name} are not those that were written")
    return tuple(changed)
