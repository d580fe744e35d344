"""Answers on a volume that fills up: no line is half there, and the next one fits once there is room."""

import json
from pathlib import Path

import pytest

from extract.responding.lines import GrowingLines, VolumeFull
from tests.bench.volumes import Volume

pytestmark = pytest.mark.system

ANSWER = {"answer": "x" * 300_000}


def test_a_full_volume_tears_no_line_and_takes_the_next_when_there_is_room(tmpfs_volume: Volume) -> None:
    ballast = Path(tmpfs_volume.mount) / "ballast"
    ballast.write_bytes(bytes(60 * 2**20))
    lines = GrowingLines(Path(tmpfs_volume.mount) / "responses.jsonl.partial")
    written = 0
    with pytest.raises(VolumeFull) as full:  # noqa: PT012 - how many fit is not known beforehand
        while True:
            lines.append(ANSWER)
            written += 1

    assert written > 0
    assert "is full" in full.value.message
    assert [json.loads(line) for line in lines.path.read_bytes().splitlines()] == [ANSWER] * written

    ballast.unlink()
    lines.append(ANSWER)
    lines.close()

    assert [json.loads(line) for line in lines.path.read_bytes().splitlines()] == [ANSWER] * (written + 1)
