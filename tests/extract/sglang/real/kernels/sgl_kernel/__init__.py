"""Stands in for SGLang's compiled kernels on a machine without a GPU: every name is there, and calling one fails.

sglang 0.5.23 imports them whatever it runs on, and the only package that has them needs a GPU's driver to be imported.
On a CPU the Llama path calls none of them.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import ClassVar


class Absent:
    """What every name of the kernels resolves to."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> "Absent":
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *arguments: object, **options: object) -> object:
        raise RuntimeError(f"{self.__name__} is a kernel for GPUs, and there is none here")


class Kernels(ModuleType):
    """A module in which every name is there."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every submodule."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{__name__}."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Kernels(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        return


sys.meta_path.insert(0, Finder())
sys.modules[__name__].__class__ = Kernels
