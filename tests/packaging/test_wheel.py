"""The wheel holds every module and every shipped data file of the checkout, and nothing else."""

import email
import os
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.bench.sandbox import CHECKOUT
from tests.house.sources import tracked_files
from tests.packaging.listed import lines, source_of

HEAVY = {"numpy", "torch", "sglang", "transformers"}
SLOW_TO_IMPORT = {"torch", "numpy", "sqlalchemy", "rich", "paramiko"}


def test_the_wheel_holds_exactly_what_the_checkout_holds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        members = {name for name in archive.namelist() if ".dist-info/" not in name}

    sources = {source_of(member).relative_to(CHECKOUT).as_posix() for member in members}

    assert sources == {name for name in tracked_files() if name.split("/")[0] in _shipped_tops()}


def test_policies_and_migrations_lie_beside_the_code_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        members = set(archive.namelist())

    assert "artifactctl/policies/README.md" in members
    assert {name for name in members if name.startswith(("migrations/", "policies/"))} == set()


def test_the_base_requirements_name_nothing_heavy(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    required = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    base = {each.name.lower() for each in required if each.marker is None or each.marker.evaluate({"extra": ""})}

    assert base & HEAVY == set()
    assert _all_that_comes_with(base) & HEAVY == set()
    assert "sqlalchemy" in _all_that_comes_with({"alembic"})


def test_the_installed_program_runs_from_another_folder(installed: Path, tmp_path: Path) -> None:
    for command in (["artifactctl"], ["python", "-m", "artifactctl"]):
        done = _run_installed(installed, command, ["--version"], cwd=tmp_path)

        assert (done.returncode, done.stdout, done.stderr) == (0, "artifactctl 0.1.0\n", "")


def test_the_installed_program_finds_its_stages(installed: Path, tmp_path: Path) -> None:
    done = _run_installed(installed, ["artifactctl"], ["extract", "merge", "--help"], cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: artifactctl extract merge [OPTIONS] SOURCE...")


@pytest.mark.parametrize("folder", ["policies", "migrations"])
def test_the_installed_code_finds_its_own_data(installed: Path, tmp_path: Path, folder: str) -> None:
    code = f"from artifactctl.shipped import shipped_dir; print(shipped_dir({folder!r}))"

    done = _run_installed(installed, ["python", "-c", code], [], cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(installed.parent)


def test_starting_the_program_imports_nothing_slow() -> None:
    code = "import sys, artifactctl.cli.main; print(*{name.split('.')[0] for name in sys.modules})"

    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) & SLOW_TO_IMPORT == set()
    assert "click" in done.stdout.split()


def _shipped_tops() -> set[str]:
    return {package.split(".")[0] for package in lines("options", "packages")} | {"migrations", "policies"}


def _all_that_comes_with(names: set[str]) -> set[str]:
    """Return the names with everything they require, as the installed distributions say, without any extra."""
    found: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        try:
            required = requires(name) or []
        except PackageNotFoundError:
            continue  # required on another platform or Python only
        each = (Requirement(text) for text in required)
        waiting |= {one.name.lower() for one in each if one.marker is None or one.marker.evaluate({"extra": ""})}
    return found


def _run_installed(
    programs: Path, command: list[str], words: list[str], *, cwd: Path
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [programs / command[0], *command[1:], *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
