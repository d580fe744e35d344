"""Contract: reading files without ever being caught by a link or a pipe."""

import hashlib

import pytest

from artifactctl.domain.errors import HostFailure
from tests.contract.workshop import Workshop

CONTENT = bytes(range(256)) * 40


class ContentContract:
    """`read_range` and `digest`."""

    @pytest.mark.parametrize(
        ("offset", "length"),
        [(0, 8), (100, 1000), (len(CONTENT) - 3, 100), (len(CONTENT), 10), (len(CONTENT) + 500, 10), (5, 0)],
        ids=["start", "middle", "over the end", "at the end", "behind the end", "nothing"],
    )
    def test_a_range_is_what_the_file_has_there(self, workshop: Workshop, offset: int, length: int) -> None:
        path = workshop.top + b"/file"
        workshop.write(path, CONTENT)

        assert workshop.host.read_range(path, offset, length) == CONTENT[offset : offset + length]

    def test_the_digest_is_sha256(self, workshop: Workshop) -> None:
        path = workshop.top + b"/file"
        workshop.write(path, CONTENT)

        assert workshop.host.digest(path) == hashlib.sha256(CONTENT).hexdigest()

    def test_the_digest_reports_progress(self, workshop: Workshop) -> None:
        path = workshop.top + b"/file"
        workshop.write(path, CONTENT)
        seen: list[int] = []

        workshop.host.digest(path, progress=seen.append)

        assert seen
        assert max(seen) <= len(CONTENT)

    @pytest.mark.parametrize("what", ["absent", "folder", "link", "fifo"])
    def test_only_regular_files_are_read(self, workshop: Workshop, what: str) -> None:
        path = workshop.top + b"/thing"
        workshop.write(workshop.top + b"/file", CONTENT)
        if what == "folder":
            workshop.folder(path)
        if what == "link":
            workshop.symlink(b"file", path)
        if what == "fifo":
            workshop.fifo(path)

        with pytest.raises(HostFailure):
            workshop.host.read_range(path, 0, 10)
        with pytest.raises(HostFailure):
            workshop.host.digest(path)
