"""Making modules unimportable for a while, as they are where the operator's machine is a Mac."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

_LOOKS_FROM_INSIDE = ("artifactctl.hosts.probe", "artifactctl.hosts.local", "artifactctl.hosts.local_processes")
_BOTH_ENDS = tuple(
    f"artifactctl.hosts.probe{name}"
    for name in ("", ".calls", ".failures", ".frames", ".mounts", ".reports", ".secrecy")
)
"""What the operating side uses as well; what of it runs there is arithmetic and text."""


class _Unimportable:
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that looks at a Linux machine from inside as text that can be read and sent, not be run."""
        spec = PathFinder.find_spec(name, path) if _is_linux_only(name) else None
        if spec is not None:
            spec.loader = _Text(name, spec.origin or "")
        return spec


class _Text(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        """Refuse to run it."""
        raise ImportError(f"{module.__name__} cannot be imported here")


def _is_linux_only(name: str) -> bool:
    inside = any(name == module or name.startswith(f"{module}.") for module in _LOOKS_FROM_INSIDE)
    return inside and name not in _BOTH_ENDS


@contextmanager
def nothing_of_linux() -> Iterator[None]:
    """Let nothing be imported that looks at a Linux machine from inside; what was imported before is forgotten."""
    kept = {name: module for name, module in sys.modules.items() if _is_linux_only(name)}
    for name in kept:
        del sys.modules[name]
    blocking = _Unimportable()
    sys.meta_path.insert(0, blocking)
    try:
        yield
    finally:
        sys.meta_path.remove(blocking)
        sys.modules.update(kept)
