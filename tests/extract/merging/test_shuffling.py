"""The sort gives back what it was given, in order, however little it may hold in memory."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extract.merging.entries import Entry, content_key, id_bytes, pack, unpack
from extract.merging.shuffling import ExternalSort


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(st.binary(max_size=40), max_size=60), buffer_bytes=st.integers(1, 2000), runs=st.integers(2, 5))
def test_entries_come_back_in_ascending_order(
    tmp_path: Path, entries: list[bytes], buffer_bytes: int, runs: int
) -> None:
    sort = ExternalSort(tmp_path, buffer_bytes=buffer_bytes, most_runs=runs)
    for entry in entries:
        sort.add(entry)

    assert list(sort.ascending()) == sorted(entries)

    sort.close()
    assert list(tmp_path.iterdir()) == []


def test_an_entry_is_larger_than_what_is_read_at_a_time(tmp_path: Path) -> None:
    entries = [bytes([number]) * 400_000 for number in (3, 1, 2)]
    sort = ExternalSort(tmp_path, buffer_bytes=1)
    for entry in entries:
        sort.add(entry)

    assert list(sort.ascending()) == sorted(entries)
    sort.close()


@pytest.mark.parametrize("ids", [[0], [1, 2**31 - 1, 7]])
def test_an_entry_survives_packing(ids: list[int]) -> None:
    packed = id_bytes(ids)
    entry = Entry(
        source=3, line=2**40, content_key=content_key(packed), ids=packed, mask=bytes(len(ids)), readable=b'{"a":1}'
    )

    assert unpack(pack(entry, seed=-1)) == entry
