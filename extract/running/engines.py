"""The engines there are, each imported when it is asked for."""

import importlib

from extract.running.engine import Engine, EngineRequest

ENGINES = {"hf": "extract.running.hf:open_engine", "sglang": "extract.sglang.engine:open_engine"}
"""Engine to `module:function`, an `engine.OpenEngine`."""


def open_engine(name: str, request: EngineRequest) -> Engine:
    """Return the engine; UsageError or Refused for what it cannot serve."""
    module, function = ENGINES[name].split(":")
    opened: Engine = getattr(importlib.import_module(module), function)(request)
    return opened
