"""The folder between server and extraction: its limit, its records, and who may read it."""

import os
import threading
import time
from pathlib import Path

import pytest

from extract.sglang.attempts import AttemptFailed
from extract.sglang.receiving import take
from extract.sglang.spool import DIGEST_BYTES, PARTIAL, STATES, NoRoom, Spool
from tests.extract.sglang.model_tree import prefill
from tests.extract.sglang.test_hook import hooked


def written(spool: Path) -> Path:
    """Return the file of a good record."""
    hooked(spool)(prefill([("artifactctl-a", [1, 2, 3])]))
    return spool / "artifactctl-a.states"


@pytest.mark.parametrize("at", [3, 20, 200, -1])
def test_a_flipped_bit_anywhere_is_noticed_and_the_record_asked_for_again(tmp_path: Path, at: int) -> None:
    file = written(tmp_path)
    content = bytearray(file.read_bytes())
    content[at] ^= 4
    file.write_bytes(content)

    with pytest.raises(AttemptFailed, match=r"no record|checksum") as failed:
        take(Spool(str(tmp_path), 2**20), "artifactctl-a")

    assert failed.value.again
    assert not file.exists()


@pytest.mark.parametrize("length", [0, 5, 30, -1])
def test_a_torn_record_is_noticed(tmp_path: Path, length: int) -> None:
    file = written(tmp_path)
    file.write_bytes(file.read_bytes()[:length])

    with pytest.raises(AttemptFailed, match=r"no record|checksum"):
        take(Spool(str(tmp_path), 2**20), "artifactctl-a")


def test_a_record_under_the_name_of_another_is_noticed(tmp_path: Path) -> None:
    os.rename(written(tmp_path), tmp_path / "artifactctl-b.states")

    with pytest.raises(AttemptFailed, match="that of artifactctl-a"):
        take(Spool(str(tmp_path), 2**20), "artifactctl-b")


def test_many_writers_together_never_exceed_the_limit(tmp_path: Path) -> None:
    limit, size, most, ended = 10_000, 1_000, 0, threading.Event()

    def write(number: int) -> None:
        spool = Spool(str(tmp_path), limit)
        for each in range(15):
            file = spool.begin(f"artifactctl-{number}-{each}", size, until=time.monotonic() + 30)
            file.write(b"x" * (size - DIGEST_BYTES))
            file.publish()

    def read() -> None:
        nonlocal most
        spool = Spool(str(tmp_path), limit)
        give_up = time.monotonic() + 60
        while (not ended.is_set() or spool.used_bytes()) and time.monotonic() < give_up:
            most = max(most, spool.used_bytes())
            for name in [each for each in os.listdir(tmp_path) if each.endswith(STATES)]:
                spool.remove(name.removesuffix(STATES))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    reader = threading.Thread(target=read)
    for thread in (*writers, reader):
        thread.start()
    for writer in writers:
        writer.join()
    ended.set()
    reader.join()

    assert 0 < most <= limit


def test_a_file_that_is_being_written_is_not_taken_for_torn(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), 10_000)
    file = spool.begin("artifactctl-a", 500, until=0)

    Spool(str(tmp_path), 10_000).remove_torn()

    assert (tmp_path / f"artifactctl-a{PARTIAL}").exists()
    file.discard()
    assert spool.used_bytes() == 0


def test_what_is_being_written_counts_towards_the_limit(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), 1000)
    file = spool.begin("artifactctl-a", 600, until=0)

    with pytest.raises(NoRoom, match="had no room for 600 bytes"):
        spool.begin("artifactctl-b", 600, until=0)

    file.discard()
    spool.begin("artifactctl-b", 600, until=0).discard()


def test_one_process_reads_a_spool_and_begins_with_an_empty_one(tmp_path: Path) -> None:
    file = written(tmp_path)
    spool = Spool(str(tmp_path), 2**20)

    with spool.read_alone() as first, spool.read_alone() as second:
        assert (first, second) == (True, False)
        assert not file.exists()
    with spool.read_alone() as third:
        assert third


def test_a_request_that_is_not_ours_has_no_place_in_it(tmp_path: Path) -> None:
    for request in ("artifactctl-../x", "artifactctl-", "x", "artifactctl-a\n"):
        with pytest.raises(ValueError, match="not the id"):
            Spool(str(tmp_path), 1).path(request, STATES)
