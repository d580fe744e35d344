"""Libraries that the base install does not bring."""

import importlib
from typing import Any

from artifactctl.domain.errors import UsageError


def need(module: str, *, purpose: str, extra: str = "extract") -> Any:
    """Return the imported module; UsageError that says which extra to install when it is not there."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise UsageError(
            f"{purpose} needs the library {module.partition('.')[0]}, which is not installed",
            remedy=f"pip install 'artifactctl[{extra}]'",
        ) from missing
