"""Frames and values: everything comes out as it went in, and nothing else than that comes out."""

import json
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.hosts.probe.frames import (
    MAGIC,
    MOST_PAYLOAD_BYTES,
    PROTOCOL,
    Assembly,
    FrameReader,
    Kind,
    Tally,
    WireFault,
    decoded,
    encoded,
    packed,
)

HEADER = struct.Struct(">2sBBBxIII")
NAMES = st.binary(max_size=40).map(lambda name: name.decode("utf-8", "surrogateescape"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES | st.binary(max_size=40),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(NAMES, inside, max_size=4),
    max_leaves=12,
)


def arriving(content: bytes, step: int) -> Callable[[int], bytes]:
    """Return a reader that gives a few bytes at a time."""
    rest = memoryview(content)

    def read(at_most: int) -> bytes:
        nonlocal rest
        piece, rest = rest[: min(step, at_most)], rest[min(step, at_most) :]
        return bytes(piece)

    return read


@given(value=VALUES)
def test_every_value_comes_out_as_it_went_in(value: Any) -> None:
    assert decoded(encoded(value)) == value


@given(lengths=st.lists(st.integers(0, 9000), max_size=6), name=NAMES)
def test_long_bytes_inside_a_value_go_as_they_are(lengths: list[int], name: str) -> None:
    pieces = [bytes([number]) * length for number, length in enumerate(lengths, start=200)]
    value = {"call": name, "arguments": [name, *pieces, [*pieces, None]], "options": {}}

    sent = encoded(value)

    assert decoded(sent) == value
    assert all(piece in sent for piece in pieces if len(piece) >= 4096)


@given(
    messages=st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=300)), max_size=6), step=st.integers(1, 70)
)
def test_frames_may_arrive_in_any_pieces(messages: list[tuple[Kind, bytes]], step: int) -> None:
    content = b"".join(frame for kind, payload in messages for frame in packed(kind, 7, payload))
    reader = FrameReader(arriving(content, step))

    came = []
    while (frame := reader.next()) is not None:
        came.append((frame.kind, frame.payload))

    assert came == messages


@pytest.mark.parametrize(
    "size", [0, 1, MOST_PAYLOAD_BYTES - 1, MOST_PAYLOAD_BYTES, MOST_PAYLOAD_BYTES + 1, 3 * MOST_PAYLOAD_BYTES]
)
def test_a_long_message_comes_in_frames_and_is_whole_again(size: int) -> None:
    payload = bytes(range(256)) * (size // 256) + bytes(size % 256)
    reader = FrameReader(arriving(b"".join(packed(Kind.ANSWER, 1, payload)), 100_000))
    assembly = Assembly()

    wholes = []
    while (frame := reader.next()) is not None:
        wholes.append(assembly.add(frame))

    assert wholes[-1] == payload
    assert set(wholes[:-1]) <= {None}


@given(cut=st.integers(1, 200))
def test_what_ends_inside_of_a_frame_is_a_fault(cut: int) -> None:
    content = b"".join(packed(Kind.ANSWER, 1, b"4096 bytes are free"))
    reader = FrameReader(arriving(content[:-cut], 64))

    if cut >= len(content):
        assert reader.next() is None
        return
    with pytest.raises(WireFault, match="middle of a frame"):
        reader.next()


@given(position=st.integers(0, 38), bit=st.integers(0, 7))
def test_a_flipped_bit_never_gives_another_message(position: int, bit: int) -> None:
    content = bytearray(b"".join(packed(Kind.ANSWER, 1, b"4096 bytes are free")))
    content[position % len(content)] ^= 1 << bit
    reader = FrameReader(arriving(bytes(content), 64))

    try:
        frame = reader.next()
    except WireFault:
        return
    assert frame is not None  # the header's request, kind and end are vouched for by the trailer
    assert frame.payload == b"4096 bytes are free"


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (HEADER.pack(b"$ ", PROTOCOL, 5, 1, 1, 4, 0), "something else"),
        (HEADER.pack(MAGIC, PROTOCOL, 77, 1, 1, 4, 0), "something else"),
        (HEADER.pack(MAGIC, PROTOCOL + 1, 5, 1, 1, 4, 0), f"speaks protocol {PROTOCOL + 1}"),
        (HEADER.pack(MAGIC, PROTOCOL, 5, 1, 1, 0xFFFFFFFF, 0), "4294967295 bytes"),
        (HEADER.pack(MAGIC, PROTOCOL, 5, 1, 1, 4, 1), "damaged"),
    ],
    ids=["a prompt", "an unknown kind", "another version", "a garbage length", "a wrong checksum"],
)
def test_what_is_no_frame_is_refused_before_memory_is_taken_for_it(header: bytes, complaint: str) -> None:
    reader = FrameReader(arriving(header + b"1234" * 1000, 4096))

    tracemalloc.start()
    with pytest.raises(WireFault, match=complaint):
        reader.next()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 10 << 20


def test_a_message_without_end_is_refused() -> None:
    piece = bytes(MOST_PAYLOAD_BYTES)
    endless = HEADER.pack(MAGIC, PROTOCOL, 5, 0, 1, len(piece), zlib.crc32(piece)) + piece
    reader, assembly = FrameReader(arriving(endless * 5, 1 << 20)), Assembly(most_bytes=3 * MOST_PAYLOAD_BYTES)
    frames = list(iter(reader.next, None))

    begun = [assembly.add(frame) for frame in frames[:3]]
    with pytest.raises(WireFault, match="longer than"):
        assembly.add(frames[3])

    assert begun == [None, None, None]


def behind(length: object, content: bytes) -> bytes:
    text = json.dumps([{"\0behind": length}]).encode()
    return b"L" + struct.pack(">I", len(text)) + text + content


@pytest.mark.parametrize(
    "payload", [b"L", behind(5, b"four"), behind(3, b"four"), behind(-1, b""), behind([], b""), behind(9, b"")]
)
def test_what_stands_behind_a_value_must_be_all_that_it_says(payload: bytes) -> None:
    with pytest.raises(WireFault):
        decoded(payload)


@pytest.mark.parametrize("payload", [b"", b"J", b"J{", b"X1", b"J" + b"[" * 200_000], ids=repr)
def test_a_payload_that_holds_no_value_is_refused(payload: bytes) -> None:
    with pytest.raises(WireFault):
        decoded(payload)


def test_names_go_as_ascii_so_that_nothing_on_the_way_can_recode_them() -> None:
    name = b"caf\xe9 \xe2\x98\x83".decode("utf-8", "surrogateescape")

    sent = encoded(name)

    assert sent.isascii()
    assert json.loads(sent[1:]) == name


@given(messages=st.lists(st.binary(max_size=30), min_size=1, max_size=5), data=st.data())
def test_a_tally_notices_a_missing_message(messages: list[bytes], data: st.DataObject) -> None:
    whole, less = Tally(), Tally()
    missing = data.draw(st.integers(0, len(messages) - 1))
    for number, message in enumerate(messages):
        whole.add(message)
        if number != missing:
            less.add(message)

    assert whole.trailer() != less.trailer()
