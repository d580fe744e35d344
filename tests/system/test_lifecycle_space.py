"""What was predicted is what df shows after the purge, or the difference is explained; also on a full volume."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import holders
from tests.bench.fixtures import SiteFactory, VolumeFactory
from tests.bench.site import ROOT_NAME, Site, picture
from tests.bench.volumes import MIB, FilesystemKind, Volume, fill_with_bytes

pytestmark = pytest.mark.system

BIG = (80_000, 80_000)
"""Two shards of about 4 MiB."""
TOLERANCE_BYTES = 256 * 1024
"""What the tool's own records and the filesystem's may take or give meanwhile."""
PURGE = ("--yes", "--reason", "test", "--purge-now", "--json")


def free_bytes(volume: Volume) -> int:
    os.sync()
    status = os.statvfs(volume.mount)
    return status.f_bfree * status.f_frsize


def test_df_moves_by_the_predicted_bytes(any_local_volume: Volume, site_on: SiteFactory) -> None:
    site = site_on(any_local_volume)
    name = site.superseded("old", rows=BIG)
    predicted = site.done("reclaim", name, "--dry-run", "--json").json()
    aside = site.set_aside(name)
    before = free_bytes(any_local_volume)

    purged = site.done("quarantine", "purge", name, "--yes", "--json").json()

    moved = free_bytes(any_local_volume) - before
    assert aside["outcome"] == "quarantined"
    assert predicted["freed_now_bytes"] == 0
    assert predicted["expected_freed_bytes"] > 7 * MIB
    assert abs(moved - predicted["expected_freed_bytes"]) < TOLERANCE_BYTES
    assert purged["steps"][0]["expected_freed_bytes"] == predicted["expected_freed_bytes"]
    assert abs(purged["steps"][0]["measured_freed_bytes"] - moved) < TOLERANCE_BYTES
    assert abs(purged["difference_bytes"]) < TOLERANCE_BYTES


def test_quarantine_frees_nothing_and_says_so(site: Site, ext4_volume: Volume) -> None:
    name = site.superseded("old", rows=BIG)
    before = free_bytes(ext4_volume)

    said = site.done("reclaim", name, "--yes", "--reason", "test")

    assert "Nothing is freed until it is purged" in said.stdout
    assert abs(free_bytes(ext4_volume) - before) < TOLERANCE_BYTES


@pytest.mark.parametrize("kind", [FilesystemKind.EXT4, FilesystemKind.XFS, FilesystemKind.BTRFS], ids=str)
def test_what_a_hard_link_outside_keeps_is_not_promised(
    volumes: VolumeFactory, site_on: SiteFactory, kind: FilesystemKind
) -> None:
    volume = volumes(kind)
    site = site_on(volume)
    name = site.superseded("old", rows=BIG)
    for shard in (site.root / "old").iterdir():
        (site.outside / shard.name).hardlink_to(shard)
    site.done("supersede", name, "--by", f"{name}-new")  # a link moves the ctimes, as a forged write would
    kept = picture(site.outside)
    plan = site.done("reclaim", name, "--dry-run", "--json").json()
    assert plan["expected_freed_bytes"] <= 8192  # the folder itself
    before = free_bytes(volume)

    said = site.done("reclaim", name, *PURGE).json()

    assert abs(free_bytes(volume) - before) < TOLERANCE_BYTES
    assert abs(said["steps"][0]["measured_freed_bytes"]) < TOLERANCE_BYTES
    assert picture(site.outside) == kept


def test_a_hard_link_made_during_the_grace_is_explained(site: Site) -> None:
    name = site.superseded("old", rows=BIG)
    site.set_aside(name)
    (content,) = site.content_in_quarantine()
    for shard in content.iterdir():
        (site.outside / shard.name).hardlink_to(shard)
    kept = picture(site.outside)

    said = site("quarantine", "purge", name, "--yes", "--json")

    assert picture(site.outside) == kept
    assert said.code in (0, 4, 5)
    if said.code == 0:
        assert said.json()["explanations"]


def test_what_a_btrfs_snapshot_keeps_is_explained(btrfs_volume: Volume, site_on: SiteFactory) -> None:
    site = site_on(btrfs_volume)
    name = site.superseded("old", rows=BIG)
    os.sync()
    snapshot = btrfs_volume.mount / "snapshot"
    subprocess.run(
        ["btrfs", "subvolume", "snapshot", "-r", btrfs_volume.mount, snapshot], check=True, capture_output=True
    )
    kept = picture(snapshot / "data" / "old")
    before = free_bytes(btrfs_volume)

    said = site("reclaim", name, *PURGE)

    answer = said.json()
    assert said.code == 0, said
    assert answer["steps"][0]["outcome"] == "purged"
    assert abs(free_bytes(btrfs_volume) - before) < MIB
    if abs(answer["difference_bytes"]) > TOLERANCE_BYTES:
        assert "snapshot" in str(answer["explanations"]) or "shared" in str(answer["explanations"])
    assert picture(snapshot / "data" / "old") == kept


def test_what_a_reflink_keeps_is_no_surprise(xfs_volume: Volume, site_on: SiteFactory) -> None:
    site = site_on(xfs_volume)
    name = site.superseded("old", rows=BIG)
    for shard in (site.root / "old").iterdir():
        subprocess.run(["cp", "--reflink=always", shard, site.outside / shard.name], check=True)
    os.sync()
    kept = picture(site.outside)

    said = site("reclaim", name, *PURGE)

    assert said.code == 0, said
    answer = said.json()
    assert abs(answer["difference_bytes"]) < TOLERANCE_BYTES or answer["explanations"]
    assert picture(site.outside) == kept


@pytest.mark.parametrize("kind", [FilesystemKind.EXT4, FilesystemKind.XFS, FilesystemKind.BTRFS], ids=str)
def test_a_full_volume_can_be_relieved(volumes: VolumeFactory, site_on: SiteFactory, kind: FilesystemKind) -> None:
    volume = volumes(kind)
    site = site_on(volume)
    name = site.superseded("old", rows=BIG)
    fill(volume)

    relieved = site("reclaim", name, *PURGE)

    assert relieved.code == 0, relieved
    assert relieved.json()["steps"][0]["outcome"] == "purged"
    assert not (site.root / "old").exists()
    site.done("doctor")
    site.done("audit", "verify")


def test_quarantine_and_restore_work_on_a_full_volume(site: Site, ext4_volume: Volume) -> None:
    name = site.superseded("old", rows=BIG)
    before = picture(site.root / "old")
    fill(ext4_volume)

    site.set_aside(name)
    site.done("quarantine", "restore", name)

    assert picture(site.root / "old") == before


@pytest.mark.parametrize("kind", [FilesystemKind.EXT4, FilesystemKind.XFS], ids=str)
def test_with_the_catalog_on_the_full_volume_as_well(
    volumes: VolumeFactory, site_on: SiteFactory, kind: FilesystemKind
) -> None:
    volume = volumes(kind)
    elsewhere = site_on(volume)
    catalog = volume.mount / "catalog" / "catalog.db"
    catalog.parent.mkdir()
    here = {"ARTIFACTCTL_CATALOG": str(catalog)}
    site = replace(elsewhere, cli=replace(elsewhere.cli, extra_environment=here), root=volume.mount / "second")
    site.root.mkdir()
    site.done("init")
    elsewhere.done("root", "forget", ROOT_NAME, "--yes")
    site.done("root", "add", site.root, "--name", ROOT_NAME)
    names = [site.superseded(f"old{number}", rows=BIG) for number in range(2)]
    fill(volume)

    for name in names:
        relieved = site("reclaim", name, *PURGE)
        assert relieved.code == 0, relieved
        assert relieved.json()["steps"][0]["outcome"] == "purged"
    site.done("audit", "verify")
    site.done("doctor")


def fill(volume: Volume) -> None:
    """Leave nothing: also what a filesystem gives up a moment later is taken."""
    folder = fill_with_bytes(volume)
    for path in sorted(folder.iterdir()):
        append_to_the_end(path)
    with pytest.raises(OSError, match="No space left"):
        append_to_the_end(volume.mount / "one-more", stop_quietly=False)


def append_to_the_end(path: Path, *, stop_quietly: bool = True) -> None:
    try:
        with path.open("ab", buffering=0) as file:
            for _ in range(100_000):
                file.write(os.urandom(4096))
                os.fdatasync(file.fileno())
    except OSError:
        if not stop_quietly:
            raise


def test_a_deleted_file_that_somebody_keeps_open_explains_the_rest(site: Site) -> None:
    """The reader comes through a hard link outside, which is closed to the guards of the purge only by the lease."""
    name = site.superseded("old", rows=BIG)
    site.set_aside(name)
    (content,) = site.content_in_quarantine()

    with holders.location_descriptor(content / "shard-00000.safetensors") as pid:
        refused = site("quarantine", "purge", name, "--yes", "--json")

    assert refused.code == 4, refused
    assert str(pid) in refused.stdout
