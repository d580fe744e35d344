"""Two machines elsewhere, one of them with a managed root."""

from pathlib import Path

import pytest

from tests.machines.park import Park


@pytest.fixture
def park(tmp_path: Path) -> Park:
    """A laptop without roots, `gpu1` with the root `one` at /data, and `gpu2` with nothing managed."""
    park = Park(folder=tmp_path)
    park.add("gpu1")
    park.add("gpu2")
    park.must("root", "add", "gpu1:/data", "--name", "one")
    return park
