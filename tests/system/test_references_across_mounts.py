"""A mount below a root keeps what a link on it leads to, and nothing else, as long as it can be searched."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.shared_volume import mounted_by_fuse
from tests.bench.site import Site

pytestmark = pytest.mark.system


@contextmanager
def bound(source: Path, place: Path) -> Iterator[None]:
    """Show a folder at another place as long as the context lasts."""
    place.mkdir()
    subprocess.run(["mount", "--bind", source, place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_bind_mount_without_a_link_keeps_nothing_and_one_with_a_link_keeps_what_it_leads_to(site: Site) -> None:
    led_to, free = site.superseded("led-to"), site.superseded("free")
    (site.outside / "configs").mkdir()
    (site.outside / "configs" / "states").symlink_to("../led-to")  # relative: it leads there only from the mount

    with bound(site.outside / "configs", site.root / "configs"):
        kept = site("reclaim", led_to, "--dry-run")
        gone = site.set_aside(free)

    assert kept.code == 4
    assert f"the link {site.root}/configs/states points to it" in kept.stdout + kept.stderr
    assert gone["outcome"] == "quarantined"


def test_a_filesystem_that_may_not_answer_keeps_everything_until_it_is_unmounted(site: Site) -> None:
    name = site.superseded()
    (site.outside / "far").mkdir()

    with mounted_by_fuse(site.outside / "far", site.root / "far"):
        kept = site("reclaim", name, "--dry-run")
    unmounted = site("reclaim", name, "--dry-run")

    assert kept.code == 4
    said = " ".join((kept.stdout + kept.stderr).split())
    assert "is mounted here and was not searched; unmount it meanwhile" in said
    assert unmounted.code == 0


def test_a_link_through_a_second_path_of_the_root_keeps_what_it_leads_to(site: Site) -> None:
    name = site.superseded("old")
    alias = site.outside / "alias"

    with bound(site.root, alias):
        (site.root / "best").symlink_to(alias / "old")
        kept = site("reclaim", name, "--dry-run")

    assert kept.code == 4
    assert f"the link {site.root}/best points to it" in kept.stdout + kept.stderr


def test_so_does_one_through_a_second_path_below_the_root_itself(site: Site) -> None:
    (site.root / "data").mkdir()
    name = site.superseded("data/old")

    with bound(site.root / "data", site.root / "alias"):
        (site.root / "best").symlink_to("alias/old")
        kept = site("reclaim", name, "--dry-run")
        (site.root / "best").unlink()
        free = site("reclaim", name, "--dry-run")

    assert kept.code == 4
    assert f"the link {site.root}/best points to it" in kept.stdout + kept.stderr
    assert free.code == 0


def test_its_own_links_seen_at_a_second_path_keep_nothing(site: Site) -> None:
    (site.root / "data" / "old").mkdir(parents=True)
    (site.root / "data" / "old" / "latest").symlink_to("shard-00001.safetensors")
    name = site.superseded("data/old")

    with bound(site.root / "data", site.root / "alias"):
        gone = site.set_aside(name)

    assert gone["outcome"] == "quarantined"


def test_a_link_that_was_made_through_a_second_path_during_the_grace_stops_the_purge(site: Site) -> None:
    name = site.superseded("old")
    site.set_aside(name)
    alias = site.outside / "alias"

    with bound(site.root, alias):
        (site.root / "best").symlink_to(alias / "old")
        kept = site("quarantine", "purge", name, "--yes")
    (site.root / "best").unlink()

    assert kept.code == 4
    assert "best" in kept.stdout + kept.stderr
    site.done("quarantine", "purge", name, "--yes")
