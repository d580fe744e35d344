"""What the repository holds: a fixed top level, nothing of one machine, every system test marked as such."""

import ast
import re

from tests.bench.sandbox import CHECKOUT
from tests.bench.words import words
from tests.house.sources import modules, text_of, tracked_files

TOP_LEVEL = words(
    """
    .ci .gitignore .pre-commit-hooks.yaml .ruff.toml CHANGELOG.md LICENSE Makefile README.md artifactctl examples
    extract migrations policies pyproject.toml setup.cfg tests train
    """
)

# Pieced together, so that this file does not find itself.
MACHINE_PLACES = "|".join(f"/{place}" for place in ("root/", "work/(?:wt|main|venv|shared)", "opt/(?:wheels|pypi)"))
REGISTRY_HOSTS = "|".join(
    r"\.".join(words) for words in (("pypi", "org"), ("pythonhosted", "org"), ("deb", "debian", "org"))
)
OF_ONE_MACHINE = re.compile(f"(?<![\\w.-])(?:{MACHINE_PLACES})|{REGISTRY_HOSTS}")


def test_the_top_level_is_the_fixed_one() -> None:
    present = {name.split("/")[0] for name in tracked_files()}

    assert present - TOP_LEVEL == set()


def test_no_file_names_a_place_on_one_machine_or_a_registry() -> None:
    found = []
    for name in tracked_files():
        text = (CHECKOUT / name).read_bytes().decode("utf-8", errors="replace")
        found += [f"{name}: {match.group()}" for match in OF_ONE_MACHINE.finditer(text)]

    assert found == []


def test_the_search_for_machine_places_finds_them() -> None:
    for text in ("cd /ro" + "ot/x", "index https://py" + "pi.org/simple", "'/wo" + "rk/venv/bin/python'"):
        assert OF_ONE_MACHINE.search(text)
    for text in ("/data/root/x", "the root/ folder", "/data/work/mainline"):
        assert not OF_ONE_MACHINE.search(text)


def test_every_system_test_carries_the_marker() -> None:
    files = [name for name in modules("tests") if name.startswith("tests/system/") and "/test_" in name]

    assert [name for name in files if not _is_marked_as_system(text_of(name))] == []


def test_a_missing_marker_is_noticed() -> None:
    assert _is_marked_as_system("pytestmark = pytest.mark.system")
    assert _is_marked_as_system("pytestmark = [pytest.mark.slow, pytest.mark.system]")
    assert not _is_marked_as_system("def test_x():\n    pytestmark = pytest.mark.system")
    assert not _is_marked_as_system("# pytestmark = pytest.mark.system")


def _is_marked_as_system(source: str) -> bool:
    marks = [
        ast.unparse(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return any("pytest.mark.system" in mark for mark in marks)
