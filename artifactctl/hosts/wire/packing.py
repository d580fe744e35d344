"""The probe's source as one pack: read as data, so that nothing of it is imported where it could not run."""

import hashlib
import importlib.util
import pkgutil
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from artifactctl.hosts import probe

_LOADING = probe.__name__ + ".loading"


@cache
def sources() -> Mapping[str, str]:
    """Return the text of every module of the probe by its full name; the packages above it are sent empty."""
    names = [f"{probe.__name__}.{module.name}" for module in pkgutil.iter_modules(probe.__path__)]
    found = {name: _text_of(name) for name in sorted(names)}
    above = probe.__name__.split(".")
    return {**{".".join(above[:depth]): "" for depth in range(1, len(above) + 1)}, **found}


def _text_of(name: str) -> str:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    text: str | None = spec.loader.get_source(name)  # type: ignore[union-attr]  # every loader of source has it
    assert text is not None, f"{name} is installed without its source"
    return text


@cache
def digest() -> str:
    """Return the SHA-256 of all the sources in hex: two sides with the same one have the same probe."""
    together = hashlib.sha256()
    for name, text in sources().items():
        together.update(f"{name}\0{len(text)}\0{text}".encode())
    return together.hexdigest()


def pack(settings: Mapping[str, Any]) -> bytes:
    """Return compressed Python text that imports the probe from itself and serves; see `probe.agent.main`."""
    modules = {name: text for name, text in sources().items() if name != _LOADING}
    text = f"{sources()[_LOADING]}\nrun({modules!r}, {dict(settings)!r}, {digest()!r})\n"
    return zlib.compress(text.encode())  # harder work takes half as long again for a hundredth of the bytes
