"""What somebody without root is told: what was seen, what was not, and what would settle it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import holders
from tests.bench.nobody import NOBODY
from tests.bench.volumes import Volume
from tests.system.programs import run

pytestmark = pytest.mark.system

AS_NOBODY = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
LOOK = """
import json, os, sys
from artifactctl.hosts.probe import observing
print(json.dumps(observing.observe_path(os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2]))))
"""


@pytest.fixture
def volume(ext4_volume: Volume) -> Path:
    ext4_volume.mount.chmod(0o777)
    return ext4_volume.mount


@pytest.fixture
def target(volume: Path) -> Path:
    folder = volume / "target"
    folder.mkdir()
    (folder / "rows.bin").write_bytes(b"r" * 5000)
    for path in (folder, folder / "rows.bin"):
        os.chown(path, NOBODY, NOBODY)
    return folder


def as_user(*words: str) -> str:
    done = subprocess.run([*AS_NOBODY, *words], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seen_by_user(target: Path) -> dict[str, Any]:
    seen: dict[str, Any] = json.loads(as_user(sys.executable, "-c", LOOK, str(target.parent), target.name))
    return seen


def spots(seen: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {spot["kind"]: spot for spot in seen["holders"]["blind_spots"]}


def test_the_owner_is_told_what_could_not_be_inspected_and_the_kernel_answers_for_it(target: Path) -> None:
    seen = seen_by_user(target)

    foreign = spots(seen)["foreign_processes"]
    assert foreign["count"] >= 1
    assert "sudo" in foreign["settled_by"]
    assert seen["holders"]["holders"] == []
    assert seen["holders"]["leases_granted"] == seen["holders"]["lease_candidates"] == 1
    assert seen["holders"]["lease_answers_for_all_openers"]
    assert seen["obstacles"] == []


def test_a_root_process_that_reads_is_known_without_a_name(target: Path) -> None:
    with holders.descriptor(target / "rows.bin"):
        seen = seen_by_user(target)

    assert [(item["kind"], item["pid"]) for item in seen["holders"]["holders"]] == [("kernel_lease", None)]


def test_files_of_somebody_else_give_no_answer(target: Path) -> None:
    (target / "theirs.bin").write_bytes(b"root's")

    seen = seen_by_user(target)

    assert spots(seen)["no_lease"]["count"] == 1
    assert seen["holders"]["leases_granted"] == 1


def test_a_mapping_of_ones_own_process_is_named(target: Path) -> None:
    with holders.mapping(target / "rows.bin", prefix=AS_NOBODY) as process:
        seen = seen_by_user(target)

    assert ("mapping", process) in [(item["kind"], item["pid"]) for item in seen["holders"]["holders"]]


def test_hidden_processes_are_a_blind_spot(target: Path) -> None:
    run("mount", "-o", "remount,hidepid=2", "/proc")
    try:
        seen = seen_by_user(target)
    finally:
        run("mount", "-o", "remount,hidepid=0", "/proc")

    assert "hidden_processes" in spots(seen)


def test_a_folder_that_may_not_be_changed_is_an_obstacle(target: Path) -> None:
    (target / "closed").mkdir()

    seen = seen_by_user(target)

    assert [(item["kind"], item["path"]) for item in seen["obstacles"]] == [("permission", "closed")]


def test_foreign_files_in_a_sticky_folder_are_obstacles(target: Path) -> None:
    (target / "sticky").mkdir()
    (target / "sticky").chmod(0o1777)
    (target / "sticky" / "theirs").touch()
    (target / "sticky" / "mine").touch()
    os.chown(target / "sticky" / "mine", NOBODY, NOBODY)

    seen = seen_by_user(target)

    assert [(item["kind"], item["path"]) for item in seen["obstacles"]] == [("sticky", "sticky/theirs")]


def test_a_target_of_ones_own_in_somebody_elses_sticky_folder_is_none(volume: Path, target: Path) -> None:
    volume.chmod(0o1777)

    assert seen_by_user(target)["obstacles"] == []


def test_an_unreadable_folder_is_a_problem_and_a_blind_spot(target: Path) -> None:
    (target / "closed").mkdir(mode=0o700)

    seen = seen_by_user(target)

    assert seen["tree"]["problems"]
    assert "unreadable" in spots(seen)
