"""A merge that is killed leaves nothing half registered, and the next run goes through."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extract.merging.tokenization import CorpusTokenizer
from tests.extract.conftest import Stages, wait_until
from tests.extract.merging.merged import merged, read_corpus
from tests.extract.texts import openai, some_conversations, write_lines

MOMENTS: dict[str, Callable[[Path], bool]] = {
    "while it reads": lambda root: (root / ".corpus.partial" / "unreadable.txt").exists(),
    "while it writes": lambda root: (root / ".corpus.partial" / "records.jsonl.zst").exists(),
    "once the corpus has its name": lambda root: (root / "corpus").exists(),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_merge_leaves_nothing_half_and_a_second_run_succeeds(
    stages: Stages, tiny_folder: Path, moment: str
) -> None:
    source = write_lines(stages.root / "raw.jsonl", map(openai, some_conversations(1500, seed=3)))
    words: list[Any] = ["extract", "merge", source, "--out", stages.root / "corpus", "--tokenizer", tiny_folder]
    stages.done("scan", "vol")

    running = stages.cli.start(*words)
    wait_until(lambda: MOMENTS[moment](stages.root) or running.poll() is not None)
    running.kill()
    running.communicate()

    assert "merged_corpus" not in stages.names().values() or running.returncode == 0
    if (stages.root / "corpus").exists():
        assert len(read_corpus(stages.root / "corpus").records) == 1500
    stages.done(*words)
    assert stages.names() == {"vol/raw.jsonl": "response_set", "vol/corpus": "merged_corpus"}
    stages.done("verify", "vol/corpus")


def test_an_interrupted_merge_takes_its_own_folder_away(stages: Stages, tiny_folder: Path) -> None:
    source = write_lines(stages.root / "raw.jsonl", map(openai, some_conversations(1500, seed=3)))
    running = stages.cli.start("extract", "merge", source, "--out", "corpus", "--tokenizer", tiny_folder)
    wait_until(lambda: (stages.root / ".corpus.partial").exists() or running.poll() is not None)

    running.send_signal(signal.SIGTERM)
    _, errors = running.communicate()

    assert running.returncode == 130, errors
    assert {path.name for path in stages.root.iterdir()} == {"raw.jsonl", ".artifactctl"}


def test_two_merges_to_one_place_do_not_mix(tmp_path: Path, stages: Stages, tiny_folder: Path) -> None:
    source = write_lines(stages.root / "raw.jsonl", map(openai, some_conversations(20, seed=3)))
    aside = stages.root / ".corpus.partial"
    aside.mkdir()
    with subprocess.Popen(["flock", aside, "sleep", "60"], start_new_session=True) as other:
        wait_until(lambda: is_locked(aside))

        refused = stages("extract", "merge", source, "--out", stages.root / "corpus", "--tokenizer", tiny_folder)

        os.killpg(other.pid, signal.SIGKILL)
    assert refused.code == 6
    assert "another run is writing" in refused.stderr
    stages.done("extract", "merge", source, "--out", stages.root / "corpus", "--tokenizer", tiny_folder)


def is_locked(folder: Path) -> bool:
    return subprocess.run(["flock", "--nonblock", folder, "true"], check=False).returncode != 0


def test_a_source_that_grows_while_it_is_read_is_not_merged(tmp_path: Path, tiny: CorpusTokenizer) -> None:
    source = write_lines(tmp_path / "raw.jsonl", map(openai, some_conversations(1500, seed=1)))

    def grow(_records: int) -> None:
        with open(source, "ab") as file:
            file.write(b"{}\n")

    with pytest.raises(Exception, match="it changed while it was read"):
        merged(tmp_path / "corpus", [source], tiny, progress=grow)

    assert {path.name for path in tmp_path.iterdir()} == {"raw.jsonl"}
