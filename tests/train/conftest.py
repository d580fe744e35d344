"""One machine with everything that a training needs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.extract.conftest import gguf
from tests.train.site import Site, new_site

__all__ = ["gguf"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors are faster with one thread, and sums have one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A machine with verified states and a verified map."""
    made = new_site(tmp_path)
    made.add_states()
    made.add_map()
    return made
