"""A site for each test, with a corpus of sixty records in it."""

from pathlib import Path

import pytest

from extract.merging.tokenization import CorpusTokenizer
from tests.extract.running.site import Site, make_site


@pytest.fixture
def site(tmp_path: Path, tiny: CorpusTokenizer) -> Site:
    """A root of a folder on this machine."""
    return make_site(tmp_path, tmp_path / "scratch", tiny)
