"""The ways a store keeps bytes: nothing is lost however they are cut in pieces, and bf16 as planes takes less."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.stores.codecs import CODECS, PLANES, ZSTD, Codec, Undecodable

EVERY = pytest.mark.parametrize("codec", list(CODECS.values()), ids=list(CODECS))


def cut(content: bytes, length: int) -> Iterator[bytes]:
    return (content[at : at + length] for at in range(0, len(content), length))


@EVERY
@given(pieces=st.lists(st.binary(max_size=300), max_size=8), length=st.integers(min_value=1, max_value=64))
def test_what_is_stored_comes_back_whatever_the_pieces(codec: Codec, pieces: list[bytes], length: int) -> None:
    stored = b"".join(codec.encode(pieces))

    assert b"".join(codec.decode(cut(stored, length))) == b"".join(pieces)


def test_states_in_planes_take_seven_tenths() -> None:
    floats = np.random.default_rng(1).normal(size=(2048, 576)).astype(np.float32)
    content = (floats.view(np.uint32) >> 16).astype("<u2").tobytes()

    stored = b"".join(PLANES.encode(cut(content, 100_000)))

    assert len(stored) < 0.72 * len(content)
    assert b"".join(PLANES.decode([stored])) == content


@pytest.mark.parametrize("codec", [ZSTD, PLANES], ids=["zstd", "planes"])
def test_bytes_that_it_never_wrote_are_no_stream(codec: Codec) -> None:
    stored = b"".join(codec.encode([b"content " * 1000]))

    with pytest.raises(Undecodable):
        b"".join(codec.decode([b"!" + stored[1:]]))


def test_planes_that_are_cut_off_are_no_stream() -> None:
    stored = b"".join(PLANES.encode([b"content " * 1000]))

    with pytest.raises(Undecodable, match="ends within a block"):
        b"".join(PLANES.decode([stored[:-1]]))
