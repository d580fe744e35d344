"""Which numbers are none, in every format of floating point that states are kept in, and where in a member."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from artifactctl.recognition.values import FLOATS, PIECE_BYTES, first_not_finite, values_problem

TYPES = {
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "F32": torch.float32,
    "F64": torch.float64,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}


def test_every_format_is_tried() -> None:
    assert TYPES.keys() == FLOATS.keys()


@pytest.mark.parametrize("element", ["BF16", "F16", "F8_E4M3", "F8_E5M2"])
def test_of_every_bit_pattern_it_says_what_torch_says(element: str) -> None:
    width = FLOATS[element].width
    patterns = [number.to_bytes(width, "little") for number in range(256**width)]
    numbers = torch.frombuffer(bytearray(b"".join(patterns)), dtype=TYPES[element])
    finite = torch.isfinite(numbers.float()).tolist()

    said = [first_not_finite(element, pattern) is None for pattern in patterns]

    assert said == finite


@pytest.mark.parametrize("element", ["F32", "F64"])
@given(content=st.binary(min_size=8, max_size=64))
def test_of_wider_ones_it_finds_the_first(element: str, content: bytes) -> None:
    width = FLOATS[element].width
    whole = content[: len(content) // width * width]
    infinite = torch.isfinite(torch.frombuffer(bytearray(whole), dtype=TYPES[element])).logical_not().nonzero()

    assert first_not_finite(element, whole) == (int(infinite[0]) if len(infinite) else None)


@pytest.mark.parametrize("element", ["F32", "F64"])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_of_wider_ones_it_knows_each_kind(element: str, number: float) -> None:
    content = torch.tensor([1.0, -2.5, number], dtype=TYPES[element]).numpy().tobytes()

    assert first_not_finite(element, content) == 2


def member(path: Path) -> tuple[Callable[[bytes, int, int], bytes], bytes, int]:
    content = path.read_bytes()
    return (lambda _name, begin, length: content[begin : begin + length]), str(path).encode(), len(content)


def test_a_number_beyond_the_first_piece_is_found_and_counted_from_the_tensors_begin(tmp_path: Path) -> None:
    states = torch.zeros(PIECE_BYTES // 2 + 100, 2, dtype=torch.bfloat16)
    states[PIECE_BYTES // 2 + 7, 1] = float("nan")
    path = tmp_path / "shard.safetensors"
    save_file({"ids": torch.arange(9), "layer_2": states}, path)

    said = values_problem(*member(path))

    assert said.startswith("layer_2 holds a number that is not finite")
    assert said.endswith(f"the first is element {PIECE_BYTES + 15:,}")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_a_number_in_a_specforge_sample_is_found_in_its_tensor(tmp_path: Path, packed: bool) -> None:
    states = torch.randn(1, 4, 24, dtype=torch.bfloat16)
    states[0, 3, 23] = float("inf")
    raw = io.BytesIO()
    torch.save({"input_ids": torch.arange(4), "hidden_state": torch.zeros(1, 4, 8), "aux_hidden_state": states}, raw)
    path = tmp_path / ("data_0.ckpt.gz" if packed else "data_0.ckpt")
    path.write_bytes(gzip.compress(raw.getvalue()) if packed else raw.getvalue())

    assert values_problem(*member(path)).startswith("aux_hidden_state holds a number that is not finite")
    assert values_problem(*member(path)).endswith("the first is element 95")


def test_a_gzipped_sample_that_unpacks_to_more_than_its_tensors_is_not_unpacked(tmp_path: Path) -> None:
    raw = io.BytesIO()
    torch.save({"input_ids": torch.arange(4), "hidden_state": torch.zeros(1, 4, 8)}, raw)
    path = tmp_path / "data_0.ckpt.gz"
    path.write_bytes(gzip.compress(raw.getvalue() + bytes(64 * 2**20)))

    assert values_problem(*member(path)) == "it unpacks to more than its tensors hold"


def test_a_flipped_bit_in_a_gzipped_sample_is_damage(tmp_path: Path) -> None:
    raw = io.BytesIO()
    torch.save({"input_ids": torch.arange(4), "hidden_state": torch.randn(1, 4, 65536)}, raw)
    path = tmp_path / "data_0.ckpt.gz"
    content = bytearray(gzip.compress(raw.getvalue()))
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    assert values_problem(*member(path)) == "its compression is damaged"
