"""What the README promises is so."""

import re
import subprocess

import pytest

from artifactctl.domain.errors import ExitCode
from tests.bench.sandbox import CHECKOUT
from tests.house.sources import text_of


def test_the_first_commands_are_the_demonstration_and_the_tests() -> None:
    (first, *_) = _code_blocks()

    assert first.split("\n") == ["make demo", "make test"]


@pytest.mark.parametrize("target", ["demo", "test", "lint", "clean"])
def test_the_make_targets_exist(target: str) -> None:
    done = subprocess.run(["make", "--dry-run", target], cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_the_exit_codes_in_the_readme_are_those_of_the_program() -> None:
    documented = [int(code) for code in re.findall(r"^\| (\d+) \|", text_of("README.md"), flags=re.MULTILINE)]

    assert documented == [int(code) for code in ExitCode]


def _code_blocks() -> list[str]:
    return [
        block.strip() for block in re.findall(r"^```\n(.*?)^```", text_of("README.md"), flags=re.MULTILINE | re.DOTALL)
    ]
