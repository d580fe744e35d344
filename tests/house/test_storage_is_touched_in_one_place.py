"""Only hosts/probe removes, renames or walks: everybody else asks a host (DESIGN.md, section 3)."""

import ast

import pytest

from tests.bench.words import words
from tests.house.allowances import OWN_FILES
from tests.house.sources import Call, calls, calls_in, modules

FUNCTIONS = words(
    """
    os.unlink os.remove os.rename os.renames os.replace os.rmdir os.removedirs os.truncate os.walk os.fwalk os.scandir
    os.listdir shutil.rmtree shutil.move glob.glob glob.iglob
    """
)
METHODS = frozenset({".unlink", ".rename", ".rmdir", ".iterdir", ".glob", ".rglob"})  # of pathlib.Path


def touches_storage(call: Call) -> bool:
    """Whether the call removes, renames or lists entries; `.replace` only in the form that pathlib has."""
    name = "." + call.name.rsplit(".", 1)[-1] if call.name.startswith(("pathlib.", ".")) else call.name
    if name == ".replace":
        # str.replace takes two, datetime.replace and dataclasses.replace keywords; Path.replace one target.
        return len(call.node.args) == 1 and not call.node.keywords
    return name in FUNCTIONS or name in METHODS


def test_no_module_outside_the_probe_touches_storage() -> None:
    allowed = {(each.module, each.call) for each in OWN_FILES}

    found = [
        call.place
        for module in modules("artifactctl", "extract", "train")
        if not module.startswith("artifactctl/hosts/probe/")
        for call in calls(module)
        if touches_storage(call) and (module, call.name) not in allowed
    ]

    assert found == []


def test_every_allowance_is_needed_and_says_why() -> None:
    used = {
        (call.module, call.name)
        for module in modules("artifactctl", "extract", "train")
        for call in calls(module)
        if touches_storage(call)
    }

    assert [each for each in OWN_FILES if (each.module, each.call) not in used] == []
    assert [each for each in OWN_FILES if len(each.reason.split()) < 4] == []
    assert [each for each in OWN_FILES if each.module.startswith("artifactctl/hosts/probe/")] == []


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.unlink(x)",
        "import os as system\nsystem.remove(x)",
        "from os import rename as move\nmove(x, y)",
        "import shutil\nshutil.rmtree(x)",
        "def f():\n    from shutil import move\n    move(x, y)",
        "import os\nfor _ in os.walk(x): pass",
        "with os.scandir(x): pass\nimport os",
        "from pathlib import Path\nPath(x).unlink()",
        "import pathlib\npathlib.Path(x).rename(y)",
        "path.replace(target)",
        "self.folder.rmdir()",
        "[*folder.iterdir(), *folder.rglob('*'), *folder.glob('*')]",
        "(folder / name).unlink(missing_ok=True)",
        "import pathlib\npathlib.Path.unlink(x)",
    ],
)
def test_the_search_finds_every_spelling(source: str) -> None:
    assert any(touches_storage(call) for call in calls_in(source, "example.py"))


@pytest.mark.parametrize(
    "source",
    [
        "text.replace('a', 'b')",
        "instant.replace(tzinfo=UTC)",
        "from dataclasses import replace\nreplace(value, size_bytes=1)",
        "import ast\nast.walk(tree)",
        "names.remove(name)",
        "host.walk(path)",
        "import os\nos.stat(x)",
    ],
)
def test_the_search_leaves_namesakes_alone(source: str) -> None:
    assert isinstance(ast.parse(source), ast.Module)
    assert not any(touches_storage(call) for call in calls_in(source, "example.py"))
