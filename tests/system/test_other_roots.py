"""What lies in, around or under another name of another managed root is not this root's to remove."""

import subprocess
from pathlib import Path

import pytest

from tests.bench.fixtures import SiteFactory
from tests.bench.site import Site
from tests.bench.volumes import Volume

pytestmark = pytest.mark.system

RECLAIM = ("--yes", "--reason", "test", "--waive", "recoverable", "--purge-now", "--json")


def refusals(outcome) -> dict[str, str]:
    (step,) = outcome.json()["refused"] if "refused" in outcome.json() else outcome.json()["steps"]
    return {item["guard"]: item["reason"] for item in step["evidence"] if item["verdict"] == "blocked"}


def other_catalog(tmp_path: Path) -> dict[str, str]:
    return {"ARTIFACTCTL_CATALOG": str(tmp_path / "other.db")}


def test_a_folder_inside_a_root_is_no_root_for_another_catalog(site: Site, tmp_path: Path) -> None:
    (site.root / "sub").mkdir()
    site.dump("sub/held")
    site.done("scan")
    site.done("hold", "add", "vol/sub/held", "--reason", "mine")
    other = other_catalog(tmp_path)

    assert site("init", "--yes", environment=other).code == 0
    added = site("root", "add", site.root / "sub", environment=other)
    tried = site("reclaim", site.root / "sub" / "held", *RECLAIM, environment=other)

    for outcome in (added, tried):
        assert outcome.code == 4
        assert "lies inside the managed root" in outcome.stderr
    assert (site.root / "sub" / "held").is_dir()


def test_a_folder_that_holds_another_catalogs_root_with_its_quarantine_is_kept(site: Site, tmp_path: Path) -> None:
    deep = site.outside / "project" / "deep"
    deep.mkdir(parents=True)
    (deep / "notes.txt").write_text("of somebody else")
    other = other_catalog(tmp_path)
    assert site("init", "--yes", environment=other).code == 0
    assert site("root", "add", deep, environment=other).code == 0

    tried = site("reclaim", site.outside / "project", *RECLAIM)

    assert tried.code == 4
    assert "another managed root" in refusals(tried)["confined"]
    assert (deep / ".artifactctl" / "root.json").is_file()


def test_a_hold_under_another_name_of_the_folder_counts(site: Site, tmp_path: Path) -> None:
    (site.root / "sub").mkdir()
    site.dump("sub/dump")
    bound = tmp_path / "bound"
    bound.mkdir()
    subprocess.run(["mount", "--bind", site.root / "sub", bound], check=True)
    try:
        site.done("root", "add", bound, "--name", "bound")
        site.done("scan")
        site.done("hold", "add", "bound/dump", "--reason", "mine")

        by_one_name = site("reclaim", "vol/sub/dump", *RECLAIM)
        site.done("hold", "release", "bound/dump", "--reason", "test")
        by_the_other = site("reclaim", "bound/dump", *RECLAIM)

        for tried in (by_one_name, by_the_other):
            assert tried.code == 4
            assert "another managed root" in refusals(tried)["confined"]
        assert (site.root / "sub" / "dump").is_dir()
    finally:
        subprocess.run(["umount", bound], check=True)


def test_a_bind_mount_of_the_root_itself_is_no_other_root(site: Site, tmp_path: Path) -> None:
    site.superseded("old")
    bound = tmp_path / "bound"
    bound.mkdir()
    subprocess.run(["mount", "--bind", site.root.parent, bound], check=True)
    try:
        site.done("reclaim", "vol/old", "--yes", "--reason", "test", "--purge-now")
    finally:
        subprocess.run(["umount", bound], check=True)
    assert not (site.root / "old").exists()


def test_what_lies_in_a_quarantine_beside_its_place_is_no_artifact(btrfs_volume: Volume, site_on: SiteFactory) -> None:
    site = site_on(btrfs_volume)
    subprocess.run(["btrfs", "-q", "subvolume", "create", site.root / "sub"], check=True)
    site.dump("sub/old")
    site.done("scan")
    site.set_aside("vol/sub/old", "--waive", "recoverable")
    (beside,) = (site.root / "sub").iterdir()

    scanned = site.done("scan", "--json").json()
    by_path = site("reclaim", beside / "content", *RECLAIM)

    assert scanned["registered"] == []
    assert by_path.code in (1, 2, 4), by_path
    assert (beside / "content").is_dir()
    site.done("quarantine", "restore", "vol/sub/old", "--yes", "--reason", "test")
    assert (site.root / "sub" / "old").is_dir()
