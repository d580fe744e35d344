"""What bears old times and is not what was recorded: written through a mapping, synchronised, or swapped as a whole."""

import mmap
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.fixtures import SiteFactory, VolumeFactory
from tests.bench.site import Site, picture
from tests.bench.volumes import FilesystemKind

pytestmark = pytest.mark.system

KINDS = [FilesystemKind.EXT4, FilesystemKind.XFS, FilesystemKind.BTRFS, FilesystemKind.TMPFS]
SHARD = "shard-00001.safetensors"


@pytest.fixture(params=KINDS, ids=lambda kind: kind.value)
def site(request: pytest.FixtureRequest, volumes: VolumeFactory, site_on: SiteFactory) -> Site:
    return site_on(volumes(request.param))


def written_through_a_mapping(shard: Path) -> None:
    """Change a page through a shared mapping, let go of it, then put the mtime back."""
    before = shard.stat()
    with shard.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[-1] = mapping[-1] ^ 0xFF
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))


def written_through_a_mapping_alone(shard: Path) -> None:
    """The same without touching any time: not every filesystem stamps a write through a mapping."""
    with shard.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[-1] = mapping[-1] ^ 0xFF


def synchronised(shard: Path) -> None:
    """Other bytes of the same number in a new file with the old times, renamed over it, as `rsync -t` does."""
    before, above = shard.stat(), shard.parent.stat()
    aside = shard.with_name(f".{shard.name}.x1")
    content = shard.read_bytes()
    aside.write_bytes(content[:-1] + bytes([content[-1] ^ 0xFF]))
    os.utime(aside, ns=(before.st_atime_ns, before.st_mtime_ns))
    aside.rename(shard)
    os.utime(shard.parent, ns=(above.st_atime_ns, above.st_mtime_ns))


def synchronised_in_place(shard: Path) -> None:
    """As `rsync --inplace -t`."""
    before = shard.stat()
    with shard.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 0xFF]))
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))


FORGERIES = [written_through_a_mapping, written_through_a_mapping_alone, synchronised, synchronised_in_place]


def skip_where_nothing_is_stamped(site: Site, forge: Callable[[Path], None]) -> None:
    """A tmpfs stamps no write through a mapping, so one that is over leaves no trace there (DESIGN.md says so)."""
    if "tmpfs" in str(site.root) and forge is written_through_a_mapping_alone:
        pytest.skip("a tmpfs stamps no write through a mapping")


def must_stay(site: Site, folder: Path) -> None:
    before = picture(folder)
    refused = site("reclaim", "vol/old", "--yes", "--reason", "test", "--purge-now", "--json")
    assert refused.code == 4, refused
    assert picture(folder) == before


@pytest.mark.parametrize("forge", FORGERIES)
def test_what_was_written_after_it_was_superseded_stays_whatever_its_times(
    site: Site, forge: Callable[[Path], None]
) -> None:
    skip_where_nothing_is_stamped(site, forge)
    site.superseded("old")

    forge(site.root / "old" / SHARD)

    must_stay(site, site.root / "old")


def test_another_folder_that_was_there_before_and_is_moved_into_its_place_stays(site: Site) -> None:
    shutil.copytree(site.dump("seed"), site.outside / "mine")
    with (site.outside / "mine" / SHARD).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x01")
    shutil.rmtree(site.root / "seed")
    site.superseded("old")
    (site.root / "old").rename(site.outside / "old")

    (site.outside / "mine").rename(site.root / "old")

    must_stay(site, site.root / "old")
    site.done("scan")
    must_stay(site, site.root / "old")
    (site.root / "old").rename(site.outside / "mine")
    (site.outside / "old").rename(site.root / "old")
    site.done("scan")
    must_stay(site, site.root / "old")  # it came back after it was superseded: somebody has to say so again
    site.done("supersede", "vol/old", "--by", "vol/old-new")
    site.done("reclaim", "vol/old", "--yes", "--reason", "test")


def test_another_folder_whose_parent_was_moved_into_place_stays(site: Site) -> None:
    site.dump("seed/old")
    (site.root / "seed").rename(site.outside / "mine")
    with (site.outside / "mine" / "old" / SHARD).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x01")
    (site.root / "runs").mkdir()
    site.dump("runs/old")
    site.dump("new")
    site.done("scan")
    site.done("verify", "vol/new")
    site.done("supersede", "vol/runs/old", "--by", "vol/new")
    (site.root / "runs").rename(site.outside / "runs")
    (site.outside / "mine").rename(site.root / "runs")
    before = picture(site.root / "runs")

    refused = site("reclaim", "vol/runs/old", "--yes", "--reason", "test", "--purge-now", "--json")

    assert refused.code == 4, refused
    assert picture(site.root / "runs") == before


@pytest.mark.parametrize("forge", FORGERIES)
def test_what_is_written_into_what_lies_in_quarantine_is_not_purged(site: Site, forge: Callable[[Path], None]) -> None:
    skip_where_nothing_is_stamped(site, forge)
    site.set_aside(site.superseded("old"))
    (content,) = site.content_in_quarantine()

    forge(content / SHARD)

    assert site("quarantine", "purge", "vol/old", "--yes").code == 4
    assert (content / SHARD).exists()
