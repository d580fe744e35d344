"""What goes into the planes comes out again, bit for bit, and what is damaged never comes out."""

import io
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.codecs.planes import (
    HEADER,
    BrokenBlock,
    PlanesDecoder,
    PlanesEncoder,
    largest_block_bytes,
    read_block_header,
)
from artifactctl.codecs.streams import decode_stream, encode_stream
from tests.bench.sandbox import CHECKOUT

EVERY_PATTERN = np.arange(2**16, dtype="<u2")
NAN_PAYLOADS = (0x7F81, 0x7FC0, 0xFFFF, 0xFF81)
SIGNED_ZEROS_AND_DENORMALS = (0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x807F)


def there_and_back(raw: bytes, columns: int) -> bytes:
    return bytes(PlanesDecoder().decode(PlanesEncoder(columns).encode(raw)))


def activations(rows: int, columns: int, seed: int = 0) -> bytes:
    """Return bf16 rows whose channels differ in scale, a few of them by much, as hidden states do."""
    random = np.random.default_rng(seed)
    scales = np.exp(random.normal(size=columns)).astype(np.float32)
    scales[:: max(1, columns // 6)] *= 100
    values = random.normal(size=(rows, columns)).astype(np.float32) * scales
    return (values.view(np.uint32) >> 16).astype("<u2").tobytes()


@pytest.mark.parametrize("columns", [1, 64, 256, 2**16])
@pytest.mark.parametrize("repeated", [1, 40])
def test_every_bit_pattern_survives(columns: int, repeated: int) -> None:
    raw = np.tile(EVERY_PATTERN, repeated).tobytes()

    assert there_and_back(raw, columns) == raw


@pytest.mark.parametrize("pattern", [*NAN_PAYLOADS, *SIGNED_ZEROS_AND_DENORMALS])
def test_a_block_of_one_special_value_survives(pattern: int) -> None:
    raw = np.full((50, 8), pattern, dtype="<u2").tobytes()

    assert there_and_back(raw, 8) == raw


@given(
    words=st.lists(st.integers(0, 0xFFFF), max_size=400),
    columns=st.integers(1, 20),
    odd=st.binary(max_size=1),
)
def test_any_words_of_any_width_survive(words: list[int], columns: int, odd: bytes) -> None:
    raw = np.array(words, dtype="<u2").tobytes() + odd

    assert there_and_back(raw, columns) == raw


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 120), columns=st.integers(1, 90))
def test_rows_with_wild_exponents_survive(seed: int, rows: int, columns: int) -> None:
    random = np.random.default_rng(seed)
    centres = random.integers(0, 256, columns)
    exponents = (centres + random.integers(-3, 4, (rows, columns))) % 256
    raw = ((exponents << 7) | random.integers(0, 128, (rows, columns))).astype("<u2").tobytes()

    assert there_and_back(raw, columns) == raw


@given(content=st.binary(max_size=3000), columns=st.integers(1, 9))
def test_any_bytes_survive_and_never_grow_beyond_the_bound(content: bytes, columns: int) -> None:
    block = PlanesEncoder(columns).encode(content)

    assert len(block) <= largest_block_bytes(len(content), columns)
    assert bytes(PlanesDecoder().decode(block)) == content


def test_states_shrink_to_two_thirds_and_centring_is_what_does_it() -> None:
    raw = activations(1200, 512)

    centred, plain = (len(PlanesEncoder(columns).encode(raw)) / len(raw) for columns in (512, 1))

    assert centred < 0.675 < 0.685 < plain


def test_what_does_not_compress_stays_raw_and_what_repeats_shrinks_to_nothing() -> None:
    noise = np.random.default_rng(1).integers(0, 2**16, (500, 64)).astype("<u2").tobytes()
    block = PlanesEncoder(64).encode(noise)
    header = read_block_header(block)

    assert (header.exponent_form, header.low_form) == (0, 0)
    assert len(block) < len(noise) * 1.005
    assert len(PlanesEncoder(64).encode(bytes(2**20))) < 2**10


def test_one_encoder_codes_blocks_of_different_sizes_alike() -> None:
    encoder = PlanesEncoder(32)
    contents = [activations(rows, 32, rows) for rows in (200, 3, 64, 0, 500)]

    blocks = [encoder.encode(content) for content in contents]

    assert [bytes(PlanesDecoder().decode(block)) for block in blocks] == contents


@pytest.mark.parametrize("size", [0, 1, 2, 5, 4096, 3 * 4096 + 7])
def test_a_stream_of_any_length_survives(size: int) -> None:
    content = activations(64, 128)[:size]

    coded = b"".join(encode_stream(io.BytesIO(content).read, columns=128, block_bytes=4096))

    assert b"".join(decode_stream(io.BytesIO(coded).read)) == content


@pytest.mark.parametrize("keep", [1, HEADER.size, HEADER.size + 1, -1])
def test_a_stream_cut_off_inside_a_block_is_an_error(keep: int) -> None:
    coded = b"".join(encode_stream(io.BytesIO(activations(64, 16)).read, columns=16))

    with pytest.raises(BrokenBlock):
        list(decode_stream(io.BytesIO(coded[:keep]).read))


@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_never_gives_bytes_of_another_length(position: int, bit: int) -> None:
    raw = activations(40, 24)
    block = bytearray(PlanesEncoder(24).encode(raw))
    block[position % len(block)] ^= 1 << bit

    target = bytearray(len(raw))
    try:
        PlanesDecoder().decode_into(block, target)
    except BrokenBlock:
        return

    assert len(target) == len(raw)


@pytest.mark.parametrize("content", [b"", b"BFP1", b"\0" * 100, b"BFP1\x02" + b"\0" * 40, b"BFP1" + b"\xff" * 40])
def test_bytes_that_are_no_block_are_refused(content: bytes) -> None:
    with pytest.raises(BrokenBlock):
        PlanesDecoder().decode(content)


def test_importing_the_codec_loads_neither_numpy_nor_zstandard() -> None:
    code = "import artifactctl.codecs.planes, artifactctl.codecs.streams, sys; print(' '.join(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)

    assert {"numpy", "zstandard", "torch"} & set(done.stdout.split()) == set()
