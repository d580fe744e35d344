"""A tiny random Llama that decodes, with a tokenizer and drafts of it."""

import random
from pathlib import Path

import pytest

from extract.running.hf_model import LoadedModel, load
from tests.extract.conftest import smollm, tiny_folder
from tests.train.evaluating.targets import LAYERS, write_llama
from train.evaluating.running_target import RunningTarget

__all__ = ["smollm", "tiny_folder"]


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    """A Llama's folder with the tiny tokenizer."""
    return write_llama(tmp_path_factory.mktemp("llama"), tiny_folder)


@pytest.fixture(scope="session")
def llama(llama_folder: Path) -> LoadedModel:
    """The Llama, loaded once."""
    return load(llama_folder, device="cpu", dtype="float32")


@pytest.fixture
def running(llama: LoadedModel) -> RunningTarget:
    """The Llama as it decodes; nothing ends an answer."""
    return RunningTarget(llama, layers=LAYERS, stops=frozenset())


@pytest.fixture
def prompts() -> list[list[int]]:
    """Prompts of several lengths."""
    drawing = random.Random(3)
    return [[drawing.randrange(256) for _ in range(length)] for length in (1, 2, 17)]
