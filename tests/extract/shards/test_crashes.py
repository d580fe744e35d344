"""A run that is killed, at any moment, leaves whole shards and at most one file aside; the next run makes the rest."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from artifactctl.api.formats import Codec
from artifactctl.domain.errors import Busy
from extract.shards import open_shard
from extract.shards.packing import PackedDump
from tests.bench.sandbox import CHECKOUT
from tests.extract.shards import made, writing_child

RECORDS = 60
KILLS = 6
LONGEST_SECONDS = 0.25


def start(folder: Path, codec: Codec, records: int = RECORDS) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.extract.shards.writing_child", str(folder), codec.value, str(records)]
    process = subprocess.Popen(words, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def require_only_whole_shards(folder: Path) -> int:
    """Return how many there are; beside them lies at most one file that is being written."""
    names = sorted(path.name for path in folder.iterdir())
    aside = [name for name in names if name.endswith(".partial")]
    shards = [name for name in names if name.startswith("shard-") and name not in aside]
    assert len(aside) <= 1
    assert set(names) - set(aside) - set(shards) <= {"manifest.json"}
    for name in shards:
        with open_shard(folder / name) as shard:
            assert list(shard.problems()) == []
    return len(shards)


@pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])
def test_killed_at_random_moments_the_runs_together_write_every_record_once(tmp_path: Path, codec: Codec) -> None:
    random.seed(codec.value)
    whole = 0
    for _ in range(KILLS):
        with start(tmp_path, codec) as process:
            time.sleep(random.random() * LONGEST_SECONDS)
            process.kill()
        before, whole = whole, require_only_whole_shards(tmp_path)
        assert whole >= before
        if (tmp_path / "manifest.json").exists():
            break
    if not (tmp_path / "manifest.json").exists():
        with start(tmp_path, codec) as process:
            assert process.wait(60) == 0

    dump = PackedDump(tmp_path)
    assert [each.index for each in dump] == list(range(RECORDS))
    assert all(found.is_same_as(made.record(found.index, writing_child.TOKENS)) for found in dump)
    dump.close()
    assert list(tmp_path.glob("*.partial")) == []


def test_what_a_killed_run_left_aside_is_nobodys_and_a_living_runs_is_its_own(tmp_path: Path) -> None:
    with start(tmp_path, Codec.NONE, records=2000) as process:
        until(lambda: bool(list(tmp_path.glob("*.partial"))))
        process.send_signal(signal.SIGSTOP)
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
        if list(tmp_path.glob("*.partial")):  # else it was between two shards when it stopped
            with pytest.raises(Busy):
                made.writer(tmp_path, made.plan()).append(made.record(9999, writing_child.TOKENS))
        process.kill()
    after = made.writer(tmp_path, made.plan())
    after.append(made.record(9999, writing_child.TOKENS))
    after.flush()

    assert list(tmp_path.glob("*.partial")) == []


def until(holds: Callable[[], bool]) -> None:
    for _ in range(30_000):
        if holds():
            return
        time.sleep(0.001)
    raise AssertionError("it never came to that")
