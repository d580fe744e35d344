"""First aid on a real disk that fills up: the writer, the hour, the candidates, and a line that works."""

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pexpect  # type: ignore[import-untyped]
import pytest

from tests.bench import holders
from tests.bench.command_line import CommandLine, command_line
from tests.bench.nobody import NOBODY
from tests.bench.system_calls import strace_run
from tests.bench.volumes import MIB, FilesystemKind, Volume, fill_with_bytes
from tests.bench.warm_command_line import WarmCommandLine
from tests.rescue.ground import aged, checkpoint, dump

pytestmark = pytest.mark.system

SIZE_BYTES = 400 * MIB
WRITER = """
import os, sys, time
target, bytes_per_second, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
begun, written = time.monotonic(), 0
print("ready", flush=True)
while (passed := time.monotonic() - begun) < seconds:
    due = int(passed * bytes_per_second) - written
    if due > 0:
        try:
            written += os.write(file, bytes(due))
        except OSError:
            print(time.time(), flush=True)
            sys.exit(0)
    time.sleep(0.02)
"""


@pytest.fixture
def cli(warm_cli: WarmCommandLine) -> CommandLine:
    """The command line without its start-up time, which nothing here is about."""
    return warm_cli


@contextmanager
def writing(path: Path, bytes_per_second: int, *, seconds: float = 60) -> Iterator[subprocess.Popen[str]]:
    """Run a process that appends to the file at this rate until the disk is full; it then prints the instant."""
    words = [sys.executable, "-c", WRITER, str(path), str(bytes_per_second), str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def disk(volumes: Any) -> Volume:
    """An ext4 volume at 97%, with two generations of hidden states, a run of checkpoints, and a torn download."""
    volume: Volume = volumes(FilesystemKind.EXT4, size_bytes=SIZE_BYTES, make_options=("-m", "0"))
    aged(dump(volume.mount / "hidden-v1", shards=3, shard_bytes=10 * MIB), days=40)
    aged(dump(volume.mount / "hidden-v2", shards=3, shard_bytes=10 * MIB), days=2)
    for step in (100, 200, 300, 400):
        aged(checkpoint(volume.mount / "run", step, loss=1 / step, best=200, size_bytes=4 * MIB), days=3 - step / 1000)
    (volume.mount / "download.partial").write_bytes(os.urandom(3 * MIB))
    aged(volume.mount / "download.partial", days=5)
    (volume.mount / "answers.jsonl").write_text('{"messages": [{"role": "user", "content": "why?"}]}\n' * 200_000)
    aged(volume.mount / "answers.jsonl", days=60)
    aged(fill_with_bytes(volume, leave_bytes=SIZE_BYTES * 3 // 100), days=9)
    return volume


def rescue(cli: CommandLine, volume: Volume, *words: str) -> Any:
    done = cli("rescue", volume.mount, "--json", *words)
    assert done.code == 0, done.stderr
    return done.json()


def by_path(answer: Any, volume: Volume) -> dict[str, Any]:
    prefix = f"{volume.mount}/"
    return {candidate["path"].removeprefix(prefix): candidate for candidate in answer["candidates"]}


def test_the_writer_its_rate_and_the_hour_are_right(cli: CommandLine, disk: Volume) -> None:
    left = disk.available_bytes()
    rate = left // 25
    with writing(disk.mount / "growing.bin", rate) as process:
        begun = time.monotonic()
        answer = rescue(cli, disk, "--seconds", "5")
        took_seconds = time.monotonic() - begun
        assert process.stdout is not None
        full_at = float(process.stdout.readline())

    (writer,) = answer["writers"]
    assert writer["pid"] == process.pid
    assert writer["path"] == str(disk.mount / "growing.bin")
    assert writer["bytes_per_second"] == pytest.approx(rate, rel=0.1)
    assert answer["bytes_per_second"] == pytest.approx(rate, rel=0.15)
    predicted = datetime.fromisoformat(answer["full_at"]).timestamp()
    made_at = datetime.fromisoformat(answer["made_at"]).timestamp()
    assert predicted - made_at == pytest.approx(full_at - made_at, rel=0.2, abs=1.0)
    assert answer["volume"] == str(disk.mount)
    assert answer["limited_by"] == "filesystem"
    assert answer["free_bytes"] < left
    assert took_seconds < 10


def test_what_could_go_is_ranked_and_what_must_stay_is_not_in_it(cli: CommandLine, disk: Volume) -> None:
    answer = rescue(cli, disk)

    assert list(by_path(answer, disk)) == ["download.partial", "run/checkpoint-100", "run/checkpoint-300", "hidden-v1"]
    assert all(candidate["why"] and candidate["allocated_bytes"] > 0 for candidate in answer["candidates"])
    kept = {Path(item["path"]).name: item["why"] for item in answer["kept"]}
    assert kept["checkpoint-400"] == "the last of its run"
    assert kept["checkpoint-200"] == "the best of its run"
    assert "only copy" in kept["answers.jsonl"]
    assert "hidden-v2" in kept
    assert answer["coverage"]["complete"]


def test_the_need_is_covered_with_the_least_regret(cli: CommandLine, disk: Volume) -> None:
    answer = rescue(cli, disk, "--need", "9MiB")

    chosen = [path for path, candidate in by_path(answer, disk).items() if candidate["chosen"]]
    assert sorted(chosen) == ["download.partial", "run/checkpoint-100", "run/checkpoint-300"]
    assert answer["chosen_bytes"] >= answer["needed_bytes"] == 9 * MIB


def test_a_held_candidate_is_named_with_its_process_and_not_suggested(cli: CommandLine, disk: Volume) -> None:
    with holders.descriptor(disk.mount / "hidden-v1/shard-00001.safetensors") as process:
        answer = rescue(cli, disk)
        shown = cli("rescue", disk.mount)

    held = by_path(answer, disk)["hidden-v1"]
    assert process in [holder["pid"] for holder in held["held_by"]]
    assert not held["chosen"]
    assert "hidden-v1" not in answer["suggested_command"]
    assert f"pid {process}" in shown.stdout


def test_a_deleted_file_that_is_still_open_is_reported(cli: CommandLine, disk: Volume) -> None:
    gone = disk.mount / "download.partial"
    with holders.descriptor(gone) as process:
        gone.unlink()
        answer = rescue(cli, disk)

    (entry,) = answer["deleted_open"]
    assert entry["pid"] == process
    assert entry["size_bytes"] == 3 * MIB


def test_it_changes_nothing(cli: CommandLine, disk: Volume) -> None:
    traced = strace_run(cli.command("rescue", disk.mount, "--json"), below=disk.mount, cwd=cli.cwd, env=cli.environment)

    assert traced.code == 0, traced.stderr
    assert traced.calls == ()
    assert not any(cli.home.iterdir())


def test_it_works_on_a_disk_on_which_nothing_can_be_written_any_more(disk: Volume) -> None:
    """Home, state and working directory lie on the full disk themselves."""
    folder = disk.mount / "me"
    folder.mkdir()
    cli = command_line(folder)
    (disk.mount / "filler").rename(disk.mount / "filler-before")
    fill_with_bytes(disk)

    answer = rescue(cli, disk)

    assert answer["free_bytes"] < MIB
    assert "hidden-v1" in by_path(answer, disk)
    assert not any(cli.home.iterdir())


def test_the_suggested_line_previews_everything_it_names(cli: CommandLine, disk: Volume) -> None:
    answer = rescue(cli, disk, "--need", "40MiB")
    line = answer["suggested_command"]
    chosen = {candidate["path"] for candidate in answer["candidates"] if candidate["chosen"]}
    assert len({os.path.dirname(path) for path in chosen}) == 2  # folders that become managed, one inside the other

    preview = cli(*shlex.split(line)[1:], "--dry-run", "--json")

    plan = preview.json()
    assert {item["path"] for item in plan["steps"] + plan["refused"]} == chosen, preview.stderr
    assert {e["guard"] for item in plan["refused"] for e in item["evidence"] if e["verdict"] != "clear"} <= {
        "recoverable", "settled", "in_policy",
    }  # fmt: skip
    assert all(os.path.exists(path) for path in chosen)


def test_what_the_line_suggests_is_purged_in_its_dialogue(cli: CommandLine, disk: Volume) -> None:
    line = rescue(cli, disk, "--need", "25MiB")["suggested_command"]
    before = disk.available_bytes()
    program = [str(word) for word in cli.command()]
    talk = pexpect.spawn(
        program[0],
        [*program[1:], *line.split()[1:]],
        env={**cli.environment, "COLUMNS": "200"},
        cwd=str(cli.cwd),
        timeout=60,
        encoding="utf-8",
    )
    transcript = _answer_everything(talk)

    assert not (disk.mount / "hidden-v1").exists(), transcript
    assert disk.available_bytes() - before > 25 * MIB, transcript


def _answer_everything(talk: Any) -> str:
    """Agree to whatever is asked, typing the word that is asked for."""
    said = ""
    while True:
        index = talk.expect([r"Type ([^\r\n]+) to go on: ", r"\[y/N\] ", r"(?:Why[^\r\n]*\?) ", pexpect.EOF])
        said += f"{talk.before}{talk.after if index < 3 else ''}"
        if index == 3:
            talk.close()
            return said
        talk.sendline({0: talk.match[1] if index == 0 else "", 1: "y", 2: "the disk is full"}[index])


def test_without_privilege_it_says_what_it_could_not_see(cli_of_nobody: CommandLine, disk: Volume) -> None:
    os.chown(disk.mount, NOBODY, NOBODY)
    secret = disk.mount / "secret"
    secret.mkdir(mode=0o700)

    rate = disk.available_bytes() // 40
    with writing(disk.mount / "growing.bin", rate):
        done = cli_of_nobody("rescue", disk.mount, "--json")
    assert done.code == 0, done.stderr
    answer = done.json()
    assert answer["processes_denied"] > 0
    assert answer["writers"] == []
    assert answer["bytes_per_second"] == pytest.approx(rate, rel=0.25)
    assert any("secret" in problem for problem in answer["problems"])
    assert any("other users" in problem for problem in answer["problems"])
    assert "hidden-v1" in by_path(answer, disk)


def test_an_expired_quarantine_is_offered_first(cli: CommandLine, disk: Volume) -> None:
    (cli.cwd / "artifactctl.toml").write_text('[policy]\nquiet_time = "0s"\ngrace = "1s"\n')
    done = cli(
        "reclaim", disk.mount / "hidden-v1", "--yes", "--reason", "old", "--waive", "recoverable,settled,in_policy"
    )
    assert done.code == 0, done.stderr
    time.sleep(1.5)

    answer = rescue(cli, disk, "--need", "20MiB")

    first = answer["candidates"][0]
    assert first["path"] == str(disk.mount / "hidden-v1")
    assert first["why"] == "in quarantine, its grace is over"
    assert answer["suggested_command"] == f"artifactctl quarantine purge {first['operation']}"
    assert answer["quarantined_bytes"] >= 30 * MIB


def test_a_search_that_runs_out_of_time_says_what_it_did_not_see(cli: CommandLine, ext4_volume: Volume) -> None:
    for top in ("a", "b", "c"):
        for folder in range(40):
            place = ext4_volume.mount / top / f"{folder:03d}"
            place.mkdir(parents=True)
            for number in range(250):
                (place / f"{number}.bin").touch()

    answer = rescue(cli, ext4_volume, "--seconds", "1")
    shown = cli("rescue", ext4_volume.mount, "--seconds", "1")

    coverage = answer["coverage"]
    if coverage["complete"]:
        pytest.skip("this machine walks 30,000 files within the second that one look takes at least")
    assert coverage["stopped_in"].startswith(str(ext4_volume.mount))
    assert "Only a part was seen" in shown.stdout


def test_a_file_and_a_missing_path_are_refused_in_words(cli: CommandLine, disk: Volume) -> None:
    missing = cli("rescue", disk.mount / "nowhere")
    file = cli("rescue", disk.mount / "answers.jsonl")

    assert (missing.code, file.code) == (2, 2) or (missing.code in (1, 2) and file.code == 2)
    assert "nowhere" in missing.stderr
    assert "no folder" in file.stderr


def test_reading_while_a_writer_goes_on_does_not_disturb_it(cli: CommandLine, disk: Volume) -> None:
    """The look asks the kernel for no lease that would make the writer wait."""
    with writing(disk.mount / "growing.bin", MIB // 4) as process:
        looks = [threading.Thread(target=rescue, args=(cli, disk, "--seconds", "1")) for _ in range(2)]
        for look in looks:
            look.start()
        for look in looks:
            look.join()
        assert process.poll() is None


def test_the_answer_is_the_object_that_scripts_rely_on(cli: CommandLine, disk: Volume) -> None:
    answer = rescue(cli, disk)

    assert answer["schema"] == "artifactctl.rescue/1"
    assert {
        "volume", "free_bytes", "limited_by", "writers", "full_at", "candidates", "suggested_command"
    } <= answer.keys()  # fmt: skip
    for candidate in answer["candidates"]:
        assert {"path", "kind", "allocated_bytes", "why", "held_by"} <= candidate.keys()
    assert json.dumps(answer)
