"""Imports the probe from memory on a machine that has nothing of it. This file's text comes first in what is sent.

Why not the base classes of importlib.abc: it imports a quarter of the standard library, for which the first answer from
every machine would wait.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any, Dict, Optional, Sequence


class SentModules:
    """Finds modules by name in a dictionary of their sources; what has others below it is a package."""

    def __init__(self, sources: Dict[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Optional[Sequence[Any]], target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        """Return the module's spec, None for what was not sent."""
        if fullname not in self._sources:
            return None
        return ModuleSpec(fullname, self, is_package=self.is_package(fullname))  # type: ignore[arg-type]  # all that counts

    def create_module(self, spec: ModuleSpec) -> Optional[ModuleType]:
        """Leave it to the import system."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's text in it."""
        exec(self.get_code(module.__name__), module.__dict__)

    def is_package(self, fullname: str) -> bool:
        """Whether modules below it were sent."""
        return any(name.startswith(fullname + ".") for name in self._sources)

    def get_source(self, fullname: str) -> str:
        """Return its text, also for the lines of a traceback."""
        return self._sources[fullname]

    def get_code(self, fullname: str) -> CodeType:
        """Compile it under a name that tells where it came from."""
        code: CodeType = compile(self._sources[fullname], f"<sent {fullname}>", "exec", dont_inherit=True)
        return code


def run(sources: Dict[str, str], settings: Dict[str, Any], digest: str) -> None:
    """Import the agent and let it serve. What this machine has installed under the same name is not looked at."""
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, SentModules(sources))
    importlib.import_module("artifactctl.hosts.probe.agent").main(settings, digest)
