"""A scan's memory does not grow with the number of files."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.inventory.ground import ground_at

FOLDERS = 40

CHILD = """
import sys, tracemalloc
from pathlib import Path
from tests.inventory.ground import ground_at
files = int(sys.argv[2])
with ground_at(Path(sys.argv[1])) as ground:
    for folder in range(40):
        rows = ground.data / "dump" / f"rows_{folder * 2000}-{folder * 2000 + 2000}"
        rows.mkdir(parents=True)
        for index in range(files // 40):
            (rows / f"data_{folder * 2000 + index}.ckpt").touch()
    tracemalloc.start()
    (item,) = ground.scan().registered
    assert item.files == files, item
    assert item.records == files, item
    print(tracemalloc.get_traced_memory()[1])
    assert ground.scan().drift == ()
"""


def peak_bytes(folder: Path, files: int) -> int:
    folder.mkdir()
    made = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), str(files)], capture_output=True, text=True, timeout=300
    )
    assert made.returncode == 0, made.stderr
    return int(made.stdout)


def test_ten_times_the_files_in_the_same_folders_cost_a_bounded_amount_a_file(tmp_path: Path) -> None:
    small, large = peak_bytes(tmp_path / "small", 2_000), peak_bytes(tmp_path / "large", 20_000)

    # The listing of one folder is held (500 entries), and some bytes a member until the artifact is recorded.
    assert (large - small) / 18_000 < 250


@pytest.mark.parametrize("depth", [300])
def test_a_deep_tree_is_scanned(tmp_path: Path, depth: int) -> None:
    from tests.artifacts import hidden_states

    with ground_at(tmp_path) as ground:
        deep = ground.data / "/".join(["d"] * depth)
        hidden_states.safetensors_shards(deep)

        (item,) = ground.scan().registered

        assert item.path == bytes(deep)
        assert item.files == 3
