"""Set aside, put back, purge: the same tree byte for byte, of whatever shape, and nothing outside of it."""

import os
from pathlib import Path

import pytest

from tests.artifacts.corpora import json_lines, tokenised
from tests.bench.fixtures import SiteFactory
from tests.bench.site import ROOT_NAME, Site, picture
from tests.bench.volumes import Volume

pytestmark = pytest.mark.system

WAIVED = ("--yes", "--reason", "test", "--waive", "recoverable")
LEVELS = 5000


def registered(site: Site, path: Path | bytes, name: str) -> str:
    site.done("register", path, "--kind", "other", "--name", f"{ROOT_NAME}/{name}")
    return f"{ROOT_NAME}/{name}"


def round_trip(site: Site, path: Path | bytes, name: str) -> None:
    """Aside and back by name, aside and back by its old path, then gone for good."""
    before = picture(path)
    for word in (name, path):
        site.done("reclaim", word, *WAIVED)
        assert not os.path.lexists(path)
        site.done("quarantine", "restore", word)
        assert picture(path) == before
    site.done("reclaim", name, "--purge-now", *WAIVED)
    assert not os.path.lexists(path)
    assert site.content_in_quarantine() == []
    site.done("doctor")
    site.done("audit", "verify")


def test_the_same_tree_comes_back_on_every_filesystem(any_local_volume: Volume, site_on: SiteFactory) -> None:
    site = site_on(any_local_volume)
    folder = site.root / "old"
    site.dump("old")
    (folder / "rows" / "empty").mkdir(parents=True)
    (folder / "rows" / "data").write_bytes(os.urandom(100_000))
    (folder / "alias").hardlink_to(folder / "rows" / "data")
    (folder / "latest").symlink_to("rows/data")
    (folder / "dangling").symlink_to("rows/nothing")
    os.mkfifo(folder / "pipe")
    os.setxattr(folder / "rows" / "data", "user.note", b"keep")
    with (folder / "sparse").open("wb") as file:
        file.truncate(5 * 1024 * 1024)
    (folder / "rows").chmod(0o500)

    name = registered(site, folder, "old")
    site.done("reclaim", name, *WAIVED)
    site.done("quarantine", "restore", name)
    assert os.getxattr(folder / "rows" / "data", "user.note") == b"keep"
    assert (folder / "sparse").stat().st_blocks == 0

    round_trip(site, folder, name)


def test_an_occupied_place_is_refused_and_loses_nothing(site: Site) -> None:
    name = site.superseded("old")
    before = picture(site.root / "old")
    site.set_aside(name)
    (site.root / "old").mkdir()
    for occupant in ("empty folder", "folder", "file", "dangling link"):
        if occupant == "folder":
            (site.root / "old" / "new").write_text("mine")
        elif occupant == "file":
            (site.root / "old" / "new").unlink()
            (site.root / "old").rmdir()
            (site.root / "old").write_text("mine")
        elif occupant == "dangling link":
            (site.root / "old").unlink()
            (site.root / "old").symlink_to("nowhere")
        occupied = picture(site.root / "old")

        said = site("quarantine", "restore", name)

        assert said.code == 4, (occupant, said)
        assert "--to" in said.stderr
        assert picture(site.root / "old") == occupied
        assert site.quarantined() == [name]

    site.done("quarantine", "restore", name, "--to", site.root / "old-again")
    assert picture(site.root / "old-again") == before
    assert site.states()[name] == "live"
    assert site("reclaim", name, "--dry-run").code == 0


def test_restore_to_another_place_is_where_it_is_from_then_on(site: Site) -> None:
    name = site.superseded("old")
    (site.root / "archive").mkdir()
    site.set_aside(name)

    for place in (site.root / "absent" / "old", site.root / "old-new", site.root / "old-new" / "inside"):
        assert site("quarantine", "restore", name, "--to", place).code == 4, place
    site.done("quarantine", "restore", name, "--to", site.root / "archive" / "old")

    assert site.done("show", name, "--json").stdout.count("archive/old")
    site.done("doctor")
    site.set_aside(name)
    site.done("quarantine", "restore", name)
    assert (site.root / "archive" / "old").is_dir()


def test_a_tree_five_thousand_levels_deep_goes_and_comes_back(site: Site) -> None:
    deepen(site.root / "deep", LEVELS)
    name = registered(site, site.root / "deep", "deep")
    inode = (site.root / "deep").stat().st_ino

    site.done("reclaim", name, *WAIVED)
    site.done("quarantine", "restore", name)
    assert ((site.root / "deep").stat().st_ino, depth(site.root / "deep")) == (inode, LEVELS)
    site.done("reclaim", name, "--purge-now", *WAIVED)

    assert not (site.root / "deep").exists()
    assert site.content_in_quarantine() == []


def deepen(top: Path, levels: int) -> None:
    top.mkdir()
    folder = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)


def depth(top: Path) -> int:
    folder, levels = os.open(top, os.O_RDONLY), 0
    while "d" in os.listdir(folder):
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder, levels = below, levels + 1
    assert os.listdir(folder) == ["leaf"]
    os.close(folder)
    return levels


def test_names_that_are_not_utf8_anywhere(site: Site) -> None:
    folder = os.fsencode(site.root) + b"/caf\xe9 run"
    os.makedirs(folder + b"/\xff\n\xfe")
    Path(os.fsdecode(folder + b"/\xff\n\xfe/\x80.ckpt")).write_bytes(b"x" * 5000)
    Path(os.fsdecode(folder + b"/-rf")).write_bytes(b"x")
    name = registered(site, folder, "odd")

    said = site.done("reclaim", folder, "--dry-run", "--json", "--waive", "recoverable", "--reason", "x").json()

    assert said["steps"][0]["path_b64"]
    round_trip(site, folder, name)


def test_an_artifact_that_is_a_single_file(site: Site) -> None:
    path = json_lines(site.root / "corpus.jsonl", tokenised(2000))
    site.done("scan", ROOT_NAME)
    (name,) = site.states()
    assert "corpus" in name

    round_trip(site, path, name)


@pytest.mark.parametrize("kind", ["relative", "absolute", "chain"])
def test_links_that_stay_inside_are_members_and_go_with_it(site: Site, kind: str) -> None:
    site.dump("old")
    shard = site.root / "old" / "shard-00000.safetensors"
    target = {"relative": Path(shard.name), "absolute": shard, "chain": Path("second")}[kind]
    (site.root / "old" / "latest").symlink_to(target)
    if kind == "chain":
        (site.root / "old" / "second").symlink_to(shard.name)

    round_trip(site, site.root / "old", registered(site, site.root / "old", "old"))


@pytest.mark.parametrize("kind", ["relative", "absolute", "of a folder", "through a chain"])
def test_a_link_that_leads_outside_blocks_and_is_never_followed(site: Site, kind: str) -> None:
    precious = site.outside / "precious"
    precious.mkdir()
    (precious / "file").write_text("keep me")
    site.dump("old")
    target = {
        "relative": Path("../../outside/precious/file"),
        "absolute": precious / "file",
        "of a folder": precious,
        "through a chain": Path("second/file"),
    }[kind]
    (site.root / "old" / "out").symlink_to(target)
    if kind == "through a chain":
        (site.root / "old" / "second").symlink_to(precious)
    name = registered(site, site.root / "old", "old")

    said = site("reclaim", name, "--purge-now", *WAIVED, "--json")

    assert said.code == 4, said
    blocking = [item for item in said.json()["refused"][0]["evidence"] if item["verdict"] == "blocked"]
    assert [item["guard"] for item in blocking if not item["waived"]] == ["confined"]
    assert (precious / "file").read_text() == "keep me"


def test_hard_links_between_two_artifacts(site: Site) -> None:
    site.dump("first", rows=(20_000,))
    site.dump("second", rows=(10,))
    shared = site.root / "first" / "shard-00000.safetensors"
    (site.root / "second" / "shard-00007.safetensors").hardlink_to(shared)
    first, second = (registered(site, site.root / name, name) for name in ("first", "second"))
    content = shared.read_bytes()

    plan = site.done("reclaim", first, *WAIVED[1:], "--dry-run", "--json").json()
    assert plan["expected_freed_bytes"] < 20_000 < shared.stat().st_blocks * 512
    site.done("reclaim", first, "--purge-now", *WAIVED)

    assert (site.root / "second" / "shard-00007.safetensors").read_bytes() == content
    last = site.done("reclaim", second, "--purge-now", *WAIVED, "--json").json()
    assert last["steps"][0]["expected_freed_bytes"] >= len(content)
    assert not (site.root / "second").exists()


@pytest.mark.parametrize("how", ["one operation", "one after the other", "the first restored"])
def test_two_artifacts_that_share_a_file_can_both_be_purged_and_its_bytes_count_once(site: Site, how: str) -> None:
    """Purging one changes link count and ctime of the shared file in the other: our own doing, and known as such."""
    site.dump("first", rows=(20_000,))
    site.dump("second", rows=(10,))
    shared = site.root / "first" / "shard-00000.safetensors"
    (site.root / "second" / "shard-00007.safetensors").hardlink_to(shared)
    first, second = (registered(site, site.root / name, name) for name in ("first", "second"))
    shared_bytes = shared.stat().st_blocks * 512

    plan = site.done("reclaim", first, second, *WAIVED[1:], "--dry-run", "--json").json()
    if how == "one operation":
        steps = site.done("reclaim", first, second, "--purge-now", *WAIVED, "--json").json()["steps"]
    else:
        site.done("reclaim", first, second, *WAIVED)
        if how == "the first restored":
            site.done("quarantine", "restore", first)
            site.done("reclaim", first, *WAIVED)
        names = (first, second)
        steps = [site.done("quarantine", "purge", name, "--yes", "--json").json()["steps"][0] for name in names]

    assert [step["outcome"] for step in steps] == ["purged", "purged"]
    freed = [step["expected_freed_bytes"] for step in steps]
    assert [step["exclusive_bytes"] for step in plan["steps"]] == freed
    assert freed[0] < shared_bytes <= freed[1] < 2 * shared_bytes
    assert sum(freed) == plan["expected_freed_bytes"]
    assert not (site.root / ".artifactctl" / "own-changes").exists()


def test_a_write_that_covers_itself_up_in_a_shared_file_still_blocks_the_second_purge(site: Site) -> None:
    site.dump("first", rows=(20_000,))
    site.dump("second", rows=(10,))
    shared = site.root / "first" / "shard-00000.safetensors"
    outside = site.outside / "outside"
    outside.hardlink_to(shared)
    (site.root / "second" / "shard-00007.safetensors").hardlink_to(shared)
    first, second = (registered(site, site.root / name, name) for name in ("first", "second"))
    before = outside.stat()
    site.done("reclaim", first, second, *WAIVED)
    site.done("quarantine", "purge", first, "--yes")

    with outside.open("r+b") as file:
        file.write(b"changed")
    os.utime(outside, ns=(before.st_atime_ns, before.st_mtime_ns))

    said = site("quarantine", "purge", second, "--yes", "--json")
    blocking = {e["guard"] for e in said.json()["steps"][0]["evidence"] if e["verdict"] != "clear" and not e["waived"]}
    assert (said.code, blocking) == (4, {"unchanged"}), said
    site.done("quarantine", "restore", second)
