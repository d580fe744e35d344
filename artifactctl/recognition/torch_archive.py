"""The zip that `torch.save` writes: where its pickle and its tensors' bytes lie.

The end of the archive lists its members, so a file cut short has no list: it is torn. The pickle comes first, so that
the head of a file, also of a gzipped one, is enough to know the shapes.
"""

import io
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from artifactctl.domain.errors import HostFailure
from artifactctl.recognition.pickled_tensors import PickledTensor
from artifactctl.recognition.seen import Read

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LARGEST_DIRECTORY_BYTES = 64 * 1024 * 1024
"""Bytes that may be read to list an archive; a directory beyond it counts as unreadable."""

LARGEST_PICKLE_BYTES = 16 * 1024 * 1024
GZIP_HEAD_BYTES = 256 * 1024
ZIP_MAGIC = b"PK\x03\x04"
LEGACY_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""How torch files began before version 1.6 (a pickled magic number)."""

_LOCAL_HEADER_BYTES = 30


class TornArchive(ValueError):
    """The file is no complete torch archive; the message says in which way."""


class NoTorchArchive(TornArchive):
    """A whole zip that torch did not write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchArchive:
    """The members by their name without the archive's own prefix (`data.pkl`, `data/0`), and the pickle's bytes."""

    pickle: bytes
    offsets: dict[str, int]
    sizes: dict[str, int]


def open_archive(read: Read, relative: bytes, size_bytes: int) -> TorchArchive:
    """Return the directory and pickle of a torch file; TornArchive when its end is missing."""
    source = RangeFile(read, relative, size_bytes, budget_bytes=LARGEST_DIRECTORY_BYTES + LARGEST_PICKLE_BYTES)
    try:
        with zipfile.ZipFile(source) as archive:
            members = {member.filename.partition("/")[2]: member for member in archive.infolist()}
            if "data.pkl" not in members:
                raise NoTorchArchive("it holds no torch pickle")
            with archive.open(members["data.pkl"]) as pickle:
                content = pickle.read(LARGEST_PICKLE_BYTES)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise TornArchive("its end, where its list of tensors stands, is missing or damaged") from error
    return TorchArchive(
        pickle=content,
        offsets={name: member.header_offset for name, member in members.items()},
        sizes={name: member.file_size for name, member in members.items()},
    )


def pickle_at_head(head: bytes) -> bytes:
    """Return the bytes from the start of the pickle on, from the first bytes of a torch file."""
    if not head.startswith(ZIP_MAGIC) or len(head) < _LOCAL_HEADER_BYTES:
        raise TornArchive("its first bytes are no torch archive")
    name_bytes = int.from_bytes(head[26:28], "little")
    extra_bytes = int.from_bytes(head[28:30], "little")
    if not head[_LOCAL_HEADER_BYTES : _LOCAL_HEADER_BYTES + name_bytes].endswith(b"/data.pkl"):
        raise TornArchive("its pickle does not come first")
    return head[_LOCAL_HEADER_BYTES + name_bytes + extra_bytes :]


def gzip_head(read: Read, relative: bytes) -> bytes:
    """Return the first bytes of what a gzip file holds."""
    packed = read(relative, 0, GZIP_HEAD_BYTES)
    try:
        return zlib.decompressobj(wbits=31).decompress(packed, GZIP_HEAD_BYTES)
    except zlib.error as error:
        raise TornArchive("its first bytes are no gzip stream") from error


def storage_range(read: Read, relative: bytes, archive: TorchArchive, tensor: PickledTensor) -> tuple[int, int]:
    """Return where the bytes of a tensor's storage begin and end in the file."""
    member = f"data/{tensor.storage}"
    offset = archive.offsets[member]
    local = read(relative, offset, _LOCAL_HEADER_BYTES)
    begin = (
        offset + _LOCAL_HEADER_BYTES + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    )
    return begin, begin + archive.sizes[member]


def tensor_bytes(read: Read, relative: bytes, archive: TorchArchive, tensor: PickledTensor) -> bytes:
    """Return the bytes of a tensor's storage."""
    begin, end = storage_range(read, relative, archive, tensor)
    return read(relative, begin, end - begin)


class RangeFile(io.RawIOBase):
    """A read-only seekable file over `read`; HostFailure once more than `budget_bytes` were asked for."""

    def __init__(self, read: Read, relative: bytes, size_bytes: int, *, budget_bytes: int) -> None:
        super().__init__()
        self._read = read
        self._relative = relative
        self._size_bytes = size_bytes
        self._budget_bytes = budget_bytes
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        self._budget_bytes -= len(view)
        if self._budget_bytes < 0:
            raise HostFailure("the file's directory is too large to read")
        content = self._read(self._relative, self._position, len(view))
        view[: len(content)] = content
        self._position += len(content)
        return len(content)
