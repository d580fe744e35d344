"""The source files of the project as syntax trees, and the calls in them under their full names."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.bench.sandbox import CHECKOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call. `name` is dotted and free of import aliases; on a value it begins with a dot (`.unlink`)."""

    module: str
    line: int
    name: str
    node: ast.Call

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.module}:{self.line} {self.name}"


@cache
def tracked_files() -> tuple[str, ...]:
    """Return every file of the repository, relative to its top; one that is deleted but not yet committed is not."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return tuple(sorted(name for name in set(listed.split("\0")) if name and (CHECKOUT / name).is_file()))


def modules(*tops: str) -> tuple[str, ...]:
    """Return the Python files below the folders `tops`."""
    return tuple(name for name in tracked_files() if name.endswith(".py") and name.split("/")[0] in tops)


def text_of(name: str) -> str:
    """Return the file's text."""
    return (CHECKOUT / name).read_text(encoding="utf-8")


@cache
def calls(module: str) -> tuple[Call, ...]:
    """Return every call in the file."""
    return tuple(calls_in(text_of(module), module))


def calls_in(source: str, module: str) -> Iterator[Call]:
    """Yield the calls in `source`, with `from os import unlink as u; u(x)` named `os.unlink`."""
    tree = ast.parse(source, filename=module)
    names = _imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _dotted(node.func, names)
            if name:
                yield Call(module=module, line=node.lineno, name=name, node=node)


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Return what each imported local name stands for, imports inside functions included."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _dotted(function: ast.expr, names: dict[str, str]) -> str:
    """Return the full name of what is called: `.attribute` where its owner is a value and not something imported."""
    attributes: list[str] = []
    owner = function
    while isinstance(owner, ast.Attribute):
        attributes.insert(0, owner.attr)
        owner = owner.value
    if isinstance(owner, ast.Name) and (owner.id in names or not attributes):
        return ".".join([names.get(owner.id, owner.id), *attributes])
    return f".{attributes[-1]}" if attributes else ""
