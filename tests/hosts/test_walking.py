"""Walks over real folders."""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import member_order
from artifactctl.hosts.listings import members_in_order
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe import folders, walking
from artifactctl.hosts.probe.observing import observe_path
from artifactctl.hosts.protocol import EntryType

LEVELS = 1500


def listed(path: Path) -> dict[bytes, list[bytes]]:
    found = LocalHost().walk(os.fsencode(path))
    return {listing.relative: [entry.name for entry in listing.entries] for listing in found}


def test_folders_come_depth_first_and_entries_in_byte_order(tmp_path: Path) -> None:
    for name in ("b", "a/z", "a/B", "\udcff", "\U0001f600"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a.txt").touch()

    walked = list(listed(tmp_path).items())

    assert walked[0] == (b"", [b"a", b"a.txt", b"b", "\U0001f600".encode(), b"\xff"])
    assert [relative for relative, _ in walked] == [b"", b"a", b"a/B", b"a/z", b"b", "\U0001f600".encode(), b"\xff"]


def test_an_entry_carries_what_lstat_says(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 5000)
    (tmp_path / "link").symlink_to("file")
    os.link(tmp_path / "file", tmp_path / "other")

    (listing,) = LocalHost().walk(os.fsencode(tmp_path))

    file, link, _ = listing.entries
    seen = (tmp_path / "file").stat()
    assert (file.type, file.size_bytes, file.allocated_bytes) == (EntryType.FILE, 5000, seen.st_blocks * 512)
    assert (file.inode, file.links, file.modified_ns, file.changed_ns) == (
        seen.st_ino,
        2,
        seen.st_mtime_ns,
        seen.st_ctime_ns,
    )
    assert (link.type, link.link_target) == (EntryType.SYMLINK, b"file")


def test_links_to_folders_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")

    assert sorted(listed(tmp_path)) == [b"", b"real", b"real/inner"]


@pytest.mark.parametrize("name", ["file", "link", "dangling"])
def test_a_walk_that_begins_at_no_folder_has_one_entry(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("/")
    (tmp_path / "dangling").symlink_to("nowhere")

    assert listed(tmp_path / name) == {b"": [name.encode()]}


def test_a_missing_start_is_a_failure_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(HostFailure, match="nowhere"):
        list(LocalHost().walk(os.fsencode(tmp_path / "nowhere")))


def test_the_folder_that_artifactctl_keeps_for_itself_is_left_out_at_the_top_only(tmp_path: Path) -> None:
    (tmp_path / ".artifactctl").mkdir()
    (tmp_path / "nested" / ".artifactctl").mkdir(parents=True)

    assert sorted(listed(tmp_path)) == [b"", b"nested", b"nested/.artifactctl"]
    assert listed(tmp_path)[b""] == [b"nested"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything; tests/system has it as a user")
def test_a_folder_that_may_not_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)

    (problem,) = [listing.problem for listing in LocalHost().walk(os.fsencode(tmp_path)) if listing.problem]

    assert "closed" in problem


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + folders.KEPT_OPEN + 16, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def make_deep(top: Path, levels: int, name: str) -> None:
    """Make a tree far deeper than PATH_MAX, with a file and a folder beside every level."""
    current = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=current)
        os.mkdir("zz", dir_fd=current)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=current))
        following = os.open(name, os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = following
    os.close(current)


def remove_deep(top: Path) -> None:
    """shutil.rmtree recurses in Python frames and cannot; rm can."""
    subprocess.run(["rm", "-rf", str(top)], check=True)


@pytest.mark.usefixtures("few_descriptors")
def test_a_tree_deeper_than_the_recursion_limit_and_path_max_is_walked_and_observed_with_few_descriptors(
    tmp_path: Path,
) -> None:
    (tmp_path / "deep").mkdir()
    make_deep(tmp_path / "deep", LEVELS, "n" * 20)
    try:
        counts = [(len(part["entries"]), part["problem"]) for part in walking.walk(os.fsencode(tmp_path / "deep"))]
        tree = observe_path(os.fsencode(tmp_path), b"deep")["tree"]
    finally:
        remove_deep(tmp_path / "deep")

    assert len(counts) == 2 * LEVELS + 1
    assert sum(count for count, _ in counts) == 3 * LEVELS
    assert {problem for _, problem in counts} == {""}
    assert (tree["files"], tree["directories"], tree["problems"]) == (LEVELS, 2 * LEVELS + 1, [])


def test_a_path_beyond_path_max_can_be_read_and_identified(tmp_path: Path) -> None:
    name = "n" * 200
    make_deep(tmp_path, 30, name)
    path = os.fsencode(tmp_path) + b"/" + b"/".join([name.encode()] * 29) + b"/file"
    try:
        assert len(path) > os.pathconf("/", "PC_PATH_MAX")
        assert LocalHost().read_range(path, 0, 10) == b""
        identity = LocalHost().identity(path)
    finally:
        remove_deep(tmp_path / name)

    assert identity is not None


def test_a_folder_moved_away_during_the_walk_is_reported_and_the_rest_is_walked(tmp_path: Path) -> None:
    deep = "/".join(["d"] * (folders.KEPT_OPEN + 5))
    (tmp_path / "tree" / deep).mkdir(parents=True)
    (tmp_path / "tree" / "d" / "late").mkdir()
    (tmp_path / "tree" / "zz").mkdir()
    (tmp_path / "elsewhere").mkdir()

    problems, seen = [], []
    for part in walking.walk(os.fsencode(tmp_path / "tree")):
        seen.append(part["relative"])
        problems += [part["problem"]] if part["problem"] else []
        if part["relative"] == deep:
            (tmp_path / "tree/d/d").rename(tmp_path / "elsewhere" / "moved")

    assert seen[-1] == "zz"
    assert "d/late" in seen


def test_a_folder_swapped_for_a_link_during_the_walk_is_reported_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "tree" / "inside").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").touch()
    walk = walking.walk(os.fsencode(tmp_path / "tree"))

    first = next(walk)
    (tmp_path / "tree" / "inside").rmdir()
    (tmp_path / "tree" / "inside").symlink_to(tmp_path / "outside")
    [late] = walk

    assert [(row[0], row[1]) for row in first["entries"]] == [("inside", "d")]
    assert (late["relative"], late["entries"]) == ("inside", [])
    assert late["problem"]


def test_many_entries_come_in_parts_that_the_listing_joins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "ENTRIES_PER_PART", 7)
    for number in range(20):
        (tmp_path / f"{number:03}").touch()

    parts = list(walking.walk(os.fsencode(tmp_path)))

    assert [len(part["entries"]) for part in parts] == [7, 7, 6]
    assert [part["final"] for part in parts] == [False, False, True]
    assert listed(tmp_path) == {b"": [b"%03d" % number for number in range(20)]}


def test_members_come_in_member_order(tmp_path: Path) -> None:
    for name in ("a/b/c", "a.txt", "a/z", "b", "a/b.x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    paths = [relative for relative, _, _ in members_in_order(LocalHost().walk(os.fsencode(tmp_path)))]

    assert paths == sorted(paths, key=member_order)
    assert len(paths) == 5
