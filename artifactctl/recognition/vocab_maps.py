"""Maps between the target's vocabulary and the draft's: `t2d` (bool [target]) and `d2t` (int64 offsets [draft]).

`target_id = draft_id + d2t[draft_id]`, and `t2d` is true exactly at those ids. They come as two `.pt` files, as one
`vocab_mapping.pt` with both keys, or as two `.npy` files.
"""

import ast
import re
from dataclasses import dataclass

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import HostFailure
from artifactctl.recognition import torch_archive
from artifactctl.recognition.pickled_tensors import NotPlainTensors, PickledTensor, describe
from artifactctl.recognition.seen import Read
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.views import FolderView

LARGEST_MAP_BYTES = 64 * 1024 * 1024

T2D = re.compile(rb"t2d(?:-\d+)?\.(?:pt|npy)")
D2T = re.compile(rb"d2t(?:-\d+)?\.(?:pt|npy)")
BOTH = re.compile(rb"vocab_mapping.*\.pt")
MEMBER = re.compile(rb"(?:t2d|d2t)(?:-\d+)?\.(?:pt|npy)|vocab_mapping.*\.pt|token_freq.*\.pt|[^/]+\.json")


class BrokenMap(ValueError):
    """The files are no vocabulary map, or the two halves contradict each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Half:
    """The raw little-endian elements of one tensor: bool as one byte each, int64 as eight."""

    element: str
    length: int
    raw: bytes


def vocab_folder(view: FolderView) -> Sighting | None:
    """Recognise a folder that holds a vocabulary map and nothing else (JSON beside it is part of it)."""
    if view.directories or not view.files or not all(MEMBER.fullmatch(name) for name in view.files):
        return None
    pair = (next(view.matching(T2D), None), next(view.matching(D2T), None))
    both = next(view.matching(BOTH), None)
    if both is None and None in pair:
        return None
    names = tuple(name for name in (pair if None not in pair else (both,)) if name is not None)
    return _sighting(view, view.relative, names, is_directory=True)


def is_vocab_name(name: bytes) -> bool:
    """Whether the name is one that a vocabulary map, or half of one, usually has."""
    return name.startswith((b"t2d", b"d2t", b"vocab_mapping")) and any(p.fullmatch(name) for p in (T2D, D2T, BOTH))


def vocab_file(view: FolderView, name: bytes) -> Sighting:
    """Describe a map, or half of one, that is an artifact of its own in a folder that holds other things."""
    return _sighting(view, view.path(name), (name,), is_directory=False)


def _sighting(view: FolderView, relative: bytes, names: tuple[bytes, ...], *, is_directory: bool) -> Sighting:
    problems: tuple[str, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    half = _half_of(names[0]) if len(names) == 1 else None
    if half is not None:
        details = (("half", half),)
    else:
        try:
            draft, target = sizes(view.read, [(view.path(name), view.files[name]) for name in names])
            details = (("draft_vocab", str(draft)), ("target_vocab", str(target)))
        except BrokenMap as broken:
            problems = (str(broken),)
        except HostFailure as failure:
            problems = (f"cannot be read: {failure.message}",)
    return Sighting(
        kind=ArtifactKind.VOCAB_MAP,
        relative=relative,
        is_directory=is_directory,
        layout=Layout.VOCAB_MAP,
        details=details,
        problems=problems,
    )


def _half_of(name: bytes) -> str | None:
    if T2D.fullmatch(name):
        return "t2d"
    return "d2t" if D2T.fullmatch(name) else None


def sizes(read: Read, files: list[tuple[bytes, int]]) -> tuple[int, int]:
    """Return (draft vocabulary, target vocabulary) of a whole map; BrokenMap when it contradicts itself."""
    offsets, is_used = tensors(read, files)
    return len(offsets), len(is_used)


def tensors(read: Read, files: list[tuple[bytes, int]]) -> tuple[list[int], list[bool]]:
    """Return d2t and t2d of the map in the files; BrokenMap when there is none, or when they contradict each other."""
    halves: dict[str, _Half] = {}
    for relative, size_bytes in files:
        halves |= _halves(read, relative, size_bytes)
    if "t2d" not in halves or "d2t" not in halves:
        raise BrokenMap("it lacks t2d or d2t")
    t2d, d2t = halves["t2d"], halves["d2t"]
    if t2d.element != "bool" or d2t.element != "int64":
        raise BrokenMap(f"t2d is {t2d.element} and d2t is {d2t.element}; they should be bool and int64")
    offsets = list(memoryview(d2t.raw).cast("q"))
    targets = [draft_id + offset for draft_id, offset in enumerate(offsets)]
    if targets != [target_id for target_id, is_used in enumerate(t2d.raw) if is_used]:
        raise BrokenMap("t2d and d2t name different tokens")
    return offsets, [bool(is_used) for is_used in t2d.raw]


def _halves(read: Read, relative: bytes, size_bytes: int) -> dict[str, _Half]:
    if size_bytes > LARGEST_MAP_BYTES:
        raise BrokenMap("it is too large for a vocabulary map")
    name = relative.rpartition(b"/")[2]
    half = "t2d" if name.startswith(b"t2d") else "d2t"
    if name.endswith(b".npy"):
        return {half: _numpy(read(relative, 0, size_bytes))}
    try:
        archive = torch_archive.open_archive(read, relative, size_bytes)
        content = describe(archive.pickle)
    except (torch_archive.TornArchive, NotPlainTensors) as error:
        raise BrokenMap(str(error)) from error
    named = content if isinstance(content, dict) else {half: content}
    return {
        key: _tensor(read, relative, archive, tensor)
        for key, tensor in named.items()
        if key in ("t2d", "d2t") and isinstance(tensor, PickledTensor)
    }


def _tensor(read: Read, relative: bytes, archive: torch_archive.TorchArchive, tensor: PickledTensor) -> _Half:
    if len(tensor.shape) != 1 or f"data/{tensor.storage}" not in archive.offsets:
        raise BrokenMap("a map is one-dimensional")
    element = {"BoolStorage": "bool", "LongStorage": "int64"}.get(tensor.storage_class, tensor.storage_class)
    width = tensor.storage_bytes // tensor.storage_elements if tensor.storage_elements else 1
    begin = tensor.offset * width
    raw = torch_archive.tensor_bytes(read, relative, archive, tensor)[begin : begin + tensor.shape[0] * width]
    if len(raw) != tensor.shape[0] * width:
        raise BrokenMap("it is cut off")
    return _Half(element=element, length=tensor.shape[0], raw=raw)


_NUMPY_ELEMENTS = {"|b1": ("bool", 1), "<i8": ("int64", 8)}


def _numpy(content: bytes) -> _Half:
    """Read an .npy file: magic, version, length of the header, the header as a Python literal, then the data."""
    if content[:6] != b"\x93NUMPY" or len(content) < 12:
        raise BrokenMap("it is no .npy file")
    begin, width = (10, 2) if content[6] == 1 else (12, 4)
    header_bytes = int.from_bytes(content[8 : 8 + width], "little")
    try:
        header = ast.literal_eval(content[begin : begin + header_bytes].decode("latin-1").strip())
        element, element_bytes = _NUMPY_ELEMENTS[header["descr"]]
        (length,) = header["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError) as error:
        raise BrokenMap("its .npy header is no vocabulary map's") from error
    raw = content[begin + header_bytes :]
    if not isinstance(length, int) or len(raw) != length * element_bytes:
        raise BrokenMap("it is cut off")
    return _Half(element=element, length=length, raw=raw)
