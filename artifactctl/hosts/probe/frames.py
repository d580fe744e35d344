"""The form of what goes over a wire: frames, messages, values. Both sides read it here; nothing here is Linux.

A frame is a header (magic, protocol, kind, whether its message ends with it, request number, length and CRC-32 of the
payload) and a payload. A message too long for one frame comes in several. Numbers are big-endian.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from enum import IntEnum
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

PROTOCOL = 1
MAGIC = b"aw"
MOST_PAYLOAD_BYTES = 256 << 10
MOST_MESSAGE_BYTES = 256 << 20
BATCHES_AHEAD = 4
"""So many batches of a stream may be under way before the one who asked has taken the first."""

_HEADER = struct.Struct(">2sBBBxIII")
_TRAILER = struct.Struct(">II")
_READ_BYTES = 256 << 10
_BYTES = "\0bytes"
_BEHIND = "\0behind"
_LENGTH = struct.Struct(">I")
_LONG_BYTES = 4 << 10
"""Bytes of this length and more stand behind the JSON as they are: the content of files is most of what is sent."""


class Kind(IntEnum):
    """What a message says. To the agent go REQUEST, CREDIT, STOP and BEAT, the rest comes from it."""

    HELLO = 1
    REQUEST = 2
    ITEMS = 3
    PROGRESS = 4
    ANSWER = 5
    FAILURE = 6
    TRAILER = 7
    BEAT = 8
    CREDIT = 9
    STOP = 10


COUNTED = (Kind.ITEMS, Kind.ANSWER, Kind.FAILURE)
"""The kinds that the trailer of an answer vouches for."""


class WireFault(Exception):
    """What came is not what was sent, or not what this program understands."""


class Frame(NamedTuple):
    """One frame; `is_last` ends its message."""

    kind: Kind
    request: int
    payload: bytes
    is_last: bool = True


def packed(kind: Kind, request: int, payload: bytes) -> Iterator[bytes]:
    """Yield the frames of one message, ready to be sent."""
    for start in range(0, max(1, len(payload)), MOST_PAYLOAD_BYTES):
        piece = payload[start : start + MOST_PAYLOAD_BYTES]
        is_last = start + MOST_PAYLOAD_BYTES >= len(payload)
        yield _HEADER.pack(MAGIC, PROTOCOL, kind, is_last, request, len(piece), zlib.crc32(piece)) + piece


class FrameReader:
    """Takes bytes as they come and gives frames."""

    def __init__(self, read: Callable[[int], bytes], begun: bytes = b"") -> None:
        self._read = read
        self._waiting = bytearray(begun)

    def next(self) -> Optional[Frame]:
        """Return the next frame, None at the end of the bytes; WireFault for anything else than frames."""
        header = self._take(_HEADER.size)
        if header is None:
            return None
        magic, protocol, kind, is_last, request, length, checksum = _HEADER.unpack(header)
        if magic != MAGIC or kind not in Kind.__members__.values():
            raise WireFault("something else than an agent's frames came")
        if protocol != PROTOCOL:
            raise WireFault(f"the other side speaks protocol {protocol}, this one {PROTOCOL}")
        if length > MOST_PAYLOAD_BYTES:
            raise WireFault(f"a frame of {length} bytes was announced, {MOST_PAYLOAD_BYTES} are the most")
        payload = self._take(length) if length else b""
        if payload is None:
            raise WireFault("it ended in the middle of a frame")
        if zlib.crc32(payload) != checksum:
            raise WireFault("a frame came damaged")
        return Frame(Kind(kind), request, payload, bool(is_last))

    def _take(self, count: int) -> Optional[bytes]:
        while len(self._waiting) < count:
            came = self._read(_READ_BYTES)
            if not came:
                if self._waiting:
                    raise WireFault("it ended in the middle of a frame")
                return None
            self._waiting += came
        taken = bytes(self._waiting[:count])
        del self._waiting[:count]
        return taken


class Assembly:
    """Puts the frames of one request's messages together."""

    def __init__(self, most_bytes: int = MOST_MESSAGE_BYTES) -> None:
        self._most_bytes = most_bytes
        self._pieces: List[bytes] = []
        self._kind: Optional[Kind] = None
        self._bytes = 0

    def add(self, frame: Frame) -> Optional[bytes]:
        """Return the message that ends with this frame, None while it has not; WireFault when they do not fit."""
        if self._kind not in (None, frame.kind):
            raise WireFault("a message was begun inside of another one")
        self._bytes += len(frame.payload)
        if self._bytes > self._most_bytes:
            raise WireFault(f"a message is longer than {self._most_bytes} bytes")
        self._pieces.append(frame.payload)
        self._kind = frame.kind
        if not frame.is_last:
            return None
        whole = b"".join(self._pieces)
        self._pieces, self._kind, self._bytes = [], None, 0
        return whole


class Tally:
    """Counts the messages of an answer and sums them up, on both sides."""

    def __init__(self) -> None:
        self._messages = 0
        self._checksum = 0

    def add(self, message: bytes) -> None:
        """Take the next message."""
        self._messages += 1
        self._checksum = zlib.crc32(message, self._checksum)

    def trailer(self) -> bytes:
        """Return the payload of the trailer."""
        return _TRAILER.pack(self._messages, self._checksum)


def encoded(value: Any) -> bytes:
    """Return a value as a payload: bytes as they are, everything else as JSON in ASCII, long bytes in it behind it."""
    if isinstance(value, bytes):
        return b"R" + value
    behind: List[bytes] = []
    text = json.dumps(value, separators=(",", ":"), default=_setter_aside(behind)).encode("ascii")
    return b"J" + text if not behind else b"".join((b"L", _LENGTH.pack(len(text)), text, *behind))


def jsoned(value: Any) -> bytes:
    """Return JSON in ASCII; strings keep their surrogate escapes, bytes inside are marked."""
    return json.dumps(value, separators=(",", ":"), default=_mark_bytes).encode("ascii")


def decoded(payload: bytes) -> Any:
    """Return the value of a payload; tuples have become lists. WireFault when it is none."""
    form, content = payload[:1], payload[1:]
    if form == b"R":
        return content
    try:
        if form == b"J":
            return json.loads(content, object_hook=_unmark_bytes)
        if form == b"L":
            return _with_what_stands_behind(memoryview(content))
    except (ValueError, TypeError, RecursionError, struct.error) as error:
        raise WireFault("a message does not hold what it should") from error
    raise WireFault("a message does not hold what it should")


def _setter_aside(behind: List[bytes]) -> Callable[[Any], Dict[str, Any]]:
    """Return what puts long bytes into the list, and says in their place how many there are, in their order."""

    def set_aside(value: Any) -> Dict[str, Any]:
        if not isinstance(value, bytes) or len(value) < _LONG_BYTES:
            return _mark_bytes(value)
        behind.append(value)
        return {_BEHIND: len(value)}

    return set_aside


def _with_what_stands_behind(content: memoryview) -> Any:
    (length,) = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length

    def unmark(found: Dict[str, Any]) -> Any:
        nonlocal start
        if len(found) != 1 or _BEHIND not in found:
            return _unmark_bytes(found)
        end = start + int(found[_BEHIND])
        if not start <= end <= len(content):
            raise ValueError("less stands behind it than it says")
        start, taken = end, bytes(content[start:end])
        return taken

    value = json.loads(bytes(content[_LENGTH.size : start]), object_hook=unmark)
    if start != len(content):
        raise ValueError("more stands behind it than it says")
    return value


def _mark_bytes(value: Any) -> Dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} cannot go over the wire")
    return {_BYTES: base64.b64encode(value).decode("ascii")}


def _unmark_bytes(found: Dict[str, Any]) -> Any:
    return base64.b64decode(found[_BYTES]) if len(found) == 1 and _BYTES in found else found
