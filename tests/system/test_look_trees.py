"""What one walk says about a tree, on every local filesystem."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.members import member_digest
from artifactctl.domain.observation import ObstacleKind, SharedExtents
from artifactctl.hosts.listings import members_in_order
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe.observing import observe_path
from tests.bench.holders import bind_mount
from tests.bench.volumes import FilesystemKind, Volume, mounted_volume
from tests.system.programs import run

pytestmark = pytest.mark.system


@pytest.fixture(scope="module", params=list(FilesystemKind), ids=str)
def volume(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted_volume(request.param, tmp_path_factory.mktemp("volumes")) as made:
        yield made.mount


@pytest.fixture
def target(volume: Path) -> Iterator[Path]:
    folder = volume / "target"
    (folder / "inner" / "deep").mkdir(parents=True)
    (folder / "inner.txt").write_bytes(b"between inner and its content in plain byte order")
    (folder / "inner" / "rows.bin").write_bytes(b"r" * 100_000)
    (folder / "inner" / "deep" / "\udcffname\n").write_bytes(b"x")
    (folder / "link").symlink_to("inner/rows.bin")
    os.sync()
    yield folder
    for left in (folder, volume / "aside"):
        shutil.rmtree(left, ignore_errors=True)


def tree_of(path: Path) -> dict[str, Any]:
    seen = observe_path(os.fsencode(path.parent), os.fsencode(path.name))
    tree: dict[str, Any] = seen["tree"]
    assert tree["problems"] == []
    return tree


def test_the_fingerprint_of_a_folder_survives_a_rename_into_another_folder(target: Path, volume: Path) -> None:
    before = tree_of(target)

    (volume / "aside").mkdir()
    target.rename(volume / "aside" / "content")

    assert tree_of(volume / "aside" / "content")["fingerprint"] == before["fingerprint"]


def test_the_fingerprint_of_a_file_moves_with_its_ctime_which_a_rename_changes(target: Path, volume: Path) -> None:
    """Nothing else tells of a write whose mtime was put back; a rename of ours is witnessed and accounted for."""
    before = tree_of(target / "inner.txt")
    time.sleep(0.05)  # the kernel's clock for times of files goes in steps of some milliseconds

    (volume / "aside").mkdir()
    (target / "inner.txt").rename(volume / "aside" / "content")

    assert tree_of(volume / "aside" / "content")["fingerprint"] != before["fingerprint"]


def overwrite(path: Path) -> None:
    """Write the same number of bytes and put the modification time back, as a careful forger would."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"q")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: overwrite(folder / "inner/rows.bin"),
        lambda folder: (folder / "inner/rows.bin").chmod(0o600),
        lambda folder: (folder / "inner/deep").chmod(0o700),
        lambda folder: os.link(folder / "inner.txt", folder.parent / "aside-name"),
        lambda folder: (folder / "inner/deep/new").touch(),
        lambda folder: (folder / "new").mkdir(),
        lambda folder: (folder / "inner.txt").unlink(),
        lambda folder: (folder / "inner.txt").rename(folder / "other.txt"),
        lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("inner/rowz.bin")),
    ],
    ids=["write", "chmod file", "chmod folder", "hard link", "add", "add folder", "remove", "rename", "other link"],
)
def test_the_fingerprint_notices(target: Path, change: Callable[[Path], object]) -> None:
    before = tree_of(target)["fingerprint"]

    change(target)
    after = tree_of(target)["fingerprint"]
    (target.parent / "aside-name").unlink(missing_ok=True)

    assert after != before


def test_bytes_are_those_of_du(target: Path) -> None:
    tree = tree_of(target)

    assert tree["allocated_bytes"] == int(run("du", "-s", "-B1", target).split()[0])
    assert tree["exclusive_bytes"] == tree["allocated_bytes"]
    assert (tree["files"], tree["directories"], tree["symlinks"]) == (3, 3, 1)


def test_an_inode_with_a_name_outside_is_not_exclusive_and_one_named_twice_inside_counts_once(target: Path) -> None:
    os.link(target / "inner/rows.bin", target / "twice")
    os.link(target / "inner.txt", target.parent / "outside")

    tree = tree_of(target)
    (target.parent / "outside").unlink()

    assert tree["allocated_bytes"] == int(run("du", "-s", "-B1", target).split()[0])
    assert tree["allocated_bytes"] - tree["exclusive_bytes"] == (target / "inner.txt").stat().st_blocks * 512
    assert tree["outside_names"] == [["inner.txt", 1]]


def test_the_member_digest_is_that_of_the_pure_function_over_a_walk(target: Path) -> None:
    members = list(members_in_order(LocalHost().walk(os.fsencode(target))))

    assert [relative for relative, _, _ in members] == [
        b"inner/deep/\xffname\n",
        b"inner/rows.bin",
        b"inner.txt",
        b"link",
    ]
    assert tree_of(target)["member_digest"] == member_digest(members)


def test_a_single_file_has_one_member_without_a_path(target: Path) -> None:
    size = (target / "inner.txt").stat().st_size

    assert tree_of(target / "inner.txt")["member_digest"] == member_digest([(b"", "f", size)])


def test_links_that_lead_out_are_named_and_those_that_stay_inside_are_not(target: Path) -> None:
    (target / "inside-absolute").symlink_to(target / "inner")
    (target / "inner" / "up-and-down").symlink_to("../inner.txt")
    (target / "dangling-inside").symlink_to("nowhere")
    (target / "out").symlink_to("../neighbour")
    (target / "hop").symlink_to("out/../target/inner")
    (target / "prefix").symlink_to(str(target) + "-2")

    assert tree_of(target)["escaping_links"] == [["out", "../neighbour"], ["prefix", str(target) + "-2"]]


def test_a_link_that_leaves_through_another_link_is_named(target: Path) -> None:
    (target / "door").symlink_to("/etc")
    (target / "through").symlink_to("door/passwd")

    assert {link for link, _ in tree_of(target)["escaping_links"]} == {"door", "through"}


def test_special_files_are_named(target: Path) -> None:
    os.mkfifo(target / "pipe")
    os.mknod(target / "device", 0o600 | 0o020000, os.makedev(1, 3))

    assert tree_of(target)["special_files"] == [["device", "character device"], ["pipe", "fifo"]]


def test_a_mount_inside_is_reported_and_not_entered(target: Path) -> None:
    (target / "elsewhere").mkdir()
    run("mount", "--bind", target / "inner", target / "elsewhere")
    run("mount", "--bind", target / "inner/rows.bin", target / "inner.txt")
    try:
        seen = observe_path(os.fsencode(target.parent), b"target")
        listed = {listing.relative: listing for listing in LocalHost().walk(os.fsencode(target))}
    finally:
        run("umount", target / "elsewhere")
        run("umount", target / "inner.txt")

    assert [mount["relative"] for mount in seen["confinement"]["mounts"]] == ["elsewhere", "inner.txt"]
    assert seen["tree"]["files"] == 2
    assert listed[b"elsewhere"].is_mount
    assert listed[b"elsewhere"].entries == ()


def test_a_mount_between_root_and_target_is_no_clear_look(target: Path) -> None:
    run("mount", "--bind", target / "inner", target / "inner")
    try:
        seen = observe_path(os.fsencode(target.parent), b"target/inner/rows.bin")
    finally:
        run("umount", target / "inner")

    assert seen["identity"] is None
    assert [mount["relative"] for mount in seen["confinement"]["mounts"]] == [""]
    assert seen["problems"]


@pytest.mark.parametrize(
    ("letter", "member", "kind"),
    [
        ("i", "inner/rows.bin", ObstacleKind.IMMUTABLE),
        ("a", "inner", ObstacleKind.APPEND_ONLY),
        ("i", "", ObstacleKind.IMMUTABLE),
    ],
)
def test_attributes_that_forbid_an_unlink_are_obstacles(
    target: Path, letter: str, member: str, kind: ObstacleKind
) -> None:
    run("chattr", f"+{letter}", target / member)
    try:
        seen = observe_path(os.fsencode(target.parent), b"target")
    finally:
        run("chattr", f"-{letter}", target / member)

    assert [(item["kind"], item["path"]) for item in seen["obstacles"]] == [(kind, member)]


def test_an_immutable_parent_folder_is_an_obstacle(target: Path) -> None:
    run("chattr", "+i", target)
    try:
        seen = observe_path(os.fsencode(target), b"inner")
    finally:
        run("chattr", "-i", target)

    assert [(item["kind"], item["path"]) for item in seen["obstacles"]] == [("immutable", "..")]


def test_a_read_only_bind_mount_is_an_obstacle_there_alone(target: Path, tmp_path: Path) -> None:
    run("mount", "--bind", "-o", "ro", target, tmp_path)
    try:
        seen = observe_path(os.fsencode(tmp_path), b"inner")
    finally:
        run("umount", tmp_path)

    assert "read_only" in {item["kind"] for item in seen["obstacles"]}
    assert observe_path(os.fsencode(target), b"inner")["obstacles"] == []


def test_shared_blocks_are_known_where_the_filesystem_can_share(target: Path, volume: Path) -> None:
    kind = run("stat", "-f", "-c", "%T", volume)
    assert tree_of(target)["shared_extents"] == SharedExtents.NONE
    if kind not in ("xfs", "btrfs"):
        return

    run("cp", "--reflink=always", target / "inner/rows.bin", volume / "copy")
    os.sync()

    assert tree_of(target)["shared_extents"] == SharedExtents.SOME
    (volume / "copy").unlink()


def test_an_observation_has_identity_confinement_and_times(target: Path, volume: Path) -> None:
    usage = LocalHost().usage(os.fsencode(volume))
    root = Root(
        root_id="r",
        name="volume",
        host_id=1,
        path=os.fsencode(volume),
        filesystem_uuid=usage.filesystem_uuid,
        filesystem_type=usage.filesystem_type,
        inode=volume.stat().st_ino,
    )

    started = datetime.now(UTC)
    target_path = ManagedPath(root=root.path, relative=b"target")
    seen = LocalHost().observe(root, target_path, catalog_id="c", catalog_epoch=1)

    assert seen.identity == LocalHost().identity(os.fsencode(target))
    assert seen.identity is not None
    assert seen.identity.inode == target.stat().st_ino
    assert seen.identity.birth_ns is not None
    assert seen.is_directory
    assert seen.confinement.filesystem_uuid == usage.filesystem_uuid
    assert seen.confinement.symlinked_component is None
    assert seen.confinement.mounts == ()
    assert seen.tree is not None
    assert seen.tree.changed_at <= started <= seen.taken_at
    assert seen.problems == ()


def test_identity_is_the_same_after_a_remount_and_through_a_bind_mount(ext4_volume: Volume, tmp_path: Path) -> None:
    place = ext4_volume.mount / "a"
    place.mkdir()
    before = LocalHost().identity(os.fsencode(place))
    with bind_mount(ext4_volume.mount, tmp_path):
        aside = LocalHost().identity(os.fsencode(tmp_path / "a"))

    ext4_volume.remount()

    assert before == aside == LocalHost().identity(os.fsencode(place))
