"""A snapshot in the place of a btrfs subvolume has its filesystem, inodes and birth times, and is not the original."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import UNKNOWN_SUBVOLUME, FileIdentity
from artifactctl.hosts.probe import journal, subvolumes
from artifactctl.hosts.protocol import Marker, SetAside
from tests.bench.fixtures import SiteFactory
from tests.bench.site import Site, settle_at_once
from tests.bench.volumes import Volume
from tests.bench.warm_command_line import WarmCommandLine
from tests.hosts.act_ground import Ground, managed, plant

pytestmark = pytest.mark.system

RECLAIM = ("--yes", "--reason", "test")


def btrfs(*words: object) -> None:
    subprocess.run(["btrfs", "-q", "subvolume", *map(str, words)], check=True, capture_output=True)


def swap_for_snapshot(folder: Path) -> Path:
    """Move a subvolume away, a snapshot of it into its place; returns where the original is."""
    away = folder.with_name(folder.name + "-away")
    btrfs("snapshot", folder, folder.with_name("snapshot"))
    folder.rename(away)
    folder.with_name("snapshot").rename(folder)
    return away


@pytest.fixture(params=["a root that is a subvolume", "a root inside of a subvolume"])
def swapped(request: pytest.FixtureRequest, btrfs_volume: Volume, warm_cli: WarmCommandLine) -> tuple[Site, Path, Path]:
    """Return (site, its subvolume, the root in it) with a quarantine `vol/aside` and a superseded `vol/old`."""
    subvolume = btrfs_volume.mount / "data"
    btrfs("create", subvolume)
    root = subvolume if "is a" in request.param else subvolume / "inside"
    root.mkdir(exist_ok=True)
    settle_at_once(warm_cli)
    site = Site(root=root, outside=btrfs_volume.mount, cli=warm_cli)
    site.done("init")
    site.done("root", "add", root, "--name", "vol")
    site.superseded("aside")
    site.set_aside("vol/aside")
    site.superseded("old")
    return site, subvolume, root


def forget_where(root: Path) -> None:
    """Make marker and journal those of a version that did not know of subvolumes."""
    marker = root / ".artifactctl" / "root.json"
    fields = json.loads(marker.read_text())
    del fields["subvolume"]
    marker.write_text(json.dumps(fields))
    file = root / ".artifactctl" / "journal"
    raw = file.read_bytes()
    content = journal.parse(raw)
    header = {key: value for key, value in content.header.items() if key != "subvolume"}
    lines = b"".join(journal.encode(record) for record in (header, *content.records))
    file.write_bytes(lines + bytes(len(raw) - len(lines)))


def everything_is_refused(site: Site) -> None:
    for words in (
        ("reclaim", "vol/old", *RECLAIM),
        ("quarantine", "restore", "vol/aside", *RECLAIM),
        ("quarantine", "purge", "vol/aside", *RECLAIM),
        ("scan", "vol"),
        ("verify", "vol/old-new"),
        ("root", "add", site.root),
    ):
        outcome = site(*words)
        assert outcome.code == 4, (words, outcome)
        assert "snapshot" in outcome.stdout + outcome.stderr or "copy" in outcome.stderr, (words, outcome)
    doctor = site("doctor")
    assert doctor.code == 3
    assert "snapshot or a copy" in doctor.stdout


def test_a_snapshot_in_the_place_of_a_root_is_not_the_root(swapped: tuple[Site, Path, Path]) -> None:
    site, subvolume, root = swapped
    if root != subvolume:  # that one was made by a version that did not know of subvolumes
        forget_where(root)

    away = swap_for_snapshot(subvolume)

    everything_is_refused(site)
    assert (root / "old").is_dir()
    assert len(site.content_in_quarantine()) == 1
    subvolume.rename(subvolume.with_name("snapshot"))
    away.rename(subvolume)
    site.done("quarantine", "purge", "vol/aside", *RECLAIM)
    site.done("reclaim", "vol/old", *RECLAIM, "--purge-now")


def test_a_copy_in_a_new_subvolume_is_not_the_root_either(btrfs_volume: Volume) -> None:
    ground = _subvolume_ground(btrfs_volume)
    forget_where(Path(os.fsdecode(ground.path)))
    assert ground.record() is not None
    place = btrfs_volume.mount / "data"
    place.rename(btrfs_volume.mount / "away")
    btrfs("create", place)
    subprocess.run(["cp", "-a", f"{btrfs_volume.mount}/away/.", place], check=True)

    with pytest.raises(HostFailure, match="in another subvolume"):
        ground.host.operations(ground.root)


def test_a_marker_of_before_is_completed_when_the_root_is_added_again(swapped: tuple[Site, Path, Path]) -> None:
    site, _, root = swapped
    forget_where(root)

    site.done("root", "add", root)

    descriptor = os.open(root, os.O_RDONLY)
    here = subvolumes.name_of(descriptor)
    os.close(descriptor)
    assert json.loads((root / ".artifactctl" / "root.json").read_text())["subvolume"] == here
    site.done("quarantine", "restore", "vol/aside", *RECLAIM)


def test_a_snapshot_without_its_private_folder_is_no_root_that_lost_it(swapped: tuple[Site, Path, Path]) -> None:
    site, subvolume, root = swapped
    swap_for_snapshot(subvolume)
    shutil.rmtree(root / ".artifactctl")

    added = site("root", "add", root)

    assert added.code == 4
    assert "is another filesystem or folder now" in added.stderr


def test_a_snapshot_that_is_a_root_of_its_own_stays_one(btrfs_volume: Volume) -> None:
    ground = _subvolume_ground(btrfs_volume)
    btrfs("snapshot", btrfs_volume.mount / "data", btrfs_volume.mount / "copy")
    copy = btrfs_volume.mount / "copy"
    shutil.rmtree(copy / ".artifactctl")
    other = managed(copy)
    plant(other.at("mine"))
    for found in (ground, other):
        forget_where(Path(os.fsdecode(found.path)))

    assert other.set_aside("mine", operation="op2") is SetAside.DONE
    assert ground.record("op1").in_quarantine


def _subvolume_ground(volume: Volume) -> Ground:
    btrfs("create", volume.mount / "data")
    ground = managed(volume.mount / "data")
    plant(ground.at("old"))
    ground.set_aside("old")
    return ground


@pytest.mark.parametrize("act", ["plan and apply", "purge"])
def test_a_snapshot_of_a_subvolume_below_the_root_is_another_target(
    btrfs_volume: Volume, site_on: SiteFactory, tmp_path: Path, act: str
) -> None:
    site = site_on(btrfs_volume)
    inner = site.root / "sub"
    btrfs("create", inner)
    site.superseded("sub/old")
    if act == "purge":
        site.set_aside("vol/sub/old")
        words: tuple[object, ...] = ("quarantine", "purge", "vol/sub/old", *RECLAIM)
    else:
        site.done("reclaim", "vol/sub/old", "--out", tmp_path / "plan.json")
        words = ("apply", tmp_path / "plan.json", *RECLAIM)
    swap_for_snapshot(inner)
    before = sorted(path.name for path in inner.rglob("*"))

    outcome = site(*words)  # type: ignore[arg-type]

    assert outcome.code in (4, 5), outcome
    assert sorted(path.name for path in inner.rglob("*")) == before


def test_where_the_kernel_does_not_tell_the_subvolume_a_marker_proves_nothing() -> None:
    found = FileIdentity(filesystem_uuid="fs-1", inode=256, birth_ns=1, subvolume=UNKNOWN_SUBVOLUME)
    marker = Marker(
        root_id="root-1",
        name="vol",
        catalog_id="catalog-1",
        catalog_epoch=1,
        filesystem_uuid="fs-1",
        inode=256,
        subvolume=UNKNOWN_SUBVOLUME,
    )

    assert not marker.lies_at(found)
    assert replace(marker, subvolume="").lies_at(replace(found, subvolume=""))
