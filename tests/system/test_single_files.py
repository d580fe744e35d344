"""An artifact that is one file: written to in place with its size and mtime kept, it is no copy and has none."""

import os
from pathlib import Path

import pytest

from tests.bench.site import Site

pytestmark = pytest.mark.system

NAME = "vol/weights.bin"


def overwrite(path: Path) -> None:
    """Write other bytes of the same number in place and put the mtime back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(bytes(before.st_size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def copied(site: Site) -> Site:
    """A site with a file of weights that has a verified copy in the root `second`."""
    (site.root / "weights.bin").write_bytes(b"weights" * 10_000)
    second = site.outside / "second"
    second.mkdir()
    site.done("root", "add", second, "--name", "second")
    site.done("register", site.root / "weights.bin", "--kind", "checkpoint", "--name", NAME)
    site.done("archive", NAME, "--to", "second")
    return site


def copy_of(site: Site) -> Path:
    (found,) = (site.outside / "second").rglob("weights.bin")
    return found


def reclaim(site: Site, path: Path) -> tuple[int, str]:
    done = site("reclaim", path, "--yes", "--reason", "test")
    return done.code, " ".join((done.stdout + done.stderr).split())


def test_a_file_goes_and_comes_back_while_its_copy_is_verified(copied: Site) -> None:
    set_aside = reclaim(copied, copied.root / "weights.bin")
    copied.done("quarantine", "restore", NAME, "--reason", "test")
    touched = reclaim(copied, copied.root / "weights.bin")
    copied.done("verify", NAME, "--level", "digests")
    again = reclaim(copied, copied.root / "weights.bin")
    copied.done("quarantine", "purge", NAME, "--yes")

    assert set_aside[0] == 0, set_aside
    assert touched[0] == 4, touched
    assert "it was written to after the copy on `second` was verified" in touched[1]
    assert again[0] == 0, again
    assert not (copied.root / "weights.bin").exists()


@pytest.mark.parametrize("which", ["the one that is to go", "the copy"])
def test_a_file_that_was_overwritten_with_its_mtime_put_back_is_no_copy_of_the_other(copied: Site, which: str) -> None:
    overwrite(copy_of(copied) if which == "the copy" else copied.root / "weights.bin")

    code, said = reclaim(copied, copied.root / "weights.bin")

    assert code == 4, said
    assert "recoverable" in said
    assert copied.states()[NAME] == "live"


def test_a_link_that_was_made_is_told_from_a_write_by_the_digests(copied: Site) -> None:
    os.link(copy_of(copied), copied.outside / "again")
    before = reclaim(copied, copied.root / "weights.bin")
    copied.done("verify", NAME, "--level", "digests")

    after = reclaim(copied, copied.root / "weights.bin")

    assert before[0] == 4, before
    assert after[0] == 0, after
