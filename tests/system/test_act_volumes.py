"""Acting on real volumes: every filesystem, mounts and subvolumes, power cuts, broken disks, cloned roots."""

import os
import time

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import Placement, PutBack, SetAside
from tests.bench.volumes import FilesystemKind, crash_copy, cut_power, revived
from tests.hosts.act_child import run_act
from tests.hosts.act_ground import described, managed, picture, plant
from tests.system.programs import run

pytestmark = pytest.mark.system


def placement(ground, relative) -> Placement:
    return ground.host.placement(ground.root, ManagedPath(root=ground.path, relative=os.fsencode(relative)))


def test_the_round_trip_works_on_every_filesystem(any_local_volume):
    ground = managed(any_local_volume.mount)
    plant(ground.at("old"))
    os.mknod(ground.at("old/device"), 0o600 | 0o020000, os.makedev(1, 3))
    before = picture(ground.at("old"))

    assert not placement(ground, "old").sibling
    assert ground.set_aside("old") is SetAside.DONE
    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.DONE
    assert picture(ground.at("old")) == before
    ground.condemn("old", "op2")
    result = ground.purge("op2")

    assert (result.complete, result.mismatched, result.errors) == (True, (), ())


def test_a_remount_changes_nothing(xfs_volume):
    ground = managed(xfs_volume.mount)
    plant(ground.at("old"))
    before = picture(ground.at("old"))
    ground.set_aside("old")

    xfs_volume.remount()

    assert ground.record().quarantine_matches
    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.DONE
    assert picture(ground.at("old")) == before


def test_a_target_on_a_bind_mount_of_the_same_filesystem_is_refused_and_stays(ext4_volume):
    plant(os.fsencode(ext4_volume.mount) + b"/elsewhere/old")
    os.mkdir(ext4_volume.mount / "root")
    ground = managed(ext4_volume.mount / "root")
    os.mkdir(ground.at("bound"))
    plant(ground.at("bound/old"))
    ground.intend("bound/old")
    run("mount", "--bind", ext4_volume.mount / "elsewhere", ground.at("bound"))
    try:
        before = picture(ground.at("bound/old"))
        seen = placement(ground, "bound/old")
        assert ground.host.set_aside(ground.root, "op1") is SetAside.CROSS_DEVICE
        assert picture(ground.at("bound/old")) == before
    finally:
        run("umount", ground.at("bound"))

    assert (seen.possible, seen.detail) == (False, "bound/old lies on another mount than its root")


def test_a_mount_point_is_not_set_aside(ext4_volume):
    ground = managed(ext4_volume.mount)
    plant(ground.at("source"))
    os.mkdir(ground.at("old"))
    ground.intend("old")
    run("mount", "--bind", ground.at("source"), ground.at("old"))
    try:
        assert not placement(ground, "old").possible
        assert ground.host.set_aside(ground.root, "op1") in (SetAside.REPLACED, SetAside.MOUNTED)
    finally:
        run("umount", ground.at("old"))


@pytest.mark.parametrize(("source", "place"), [("source", "old/empty"), ("source/data_0.ckpt", "old/data_1.ckpt")])
def test_no_manifest_is_written_over_a_mount_below_the_target(ext4_volume, source, place):
    ground = managed(ext4_volume.mount)
    plant(ground.at("old"))
    plant(ground.at("source"))
    run("mount", "--bind", ground.at(source), ground.at(place))
    try:
        with pytest.raises(HostFailure, match="something is mounted here"):
            ground.intend("old")
    finally:
        run("umount", ground.at(place))


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_mounted_into_the_quarantine_is_not_purged(ext4_volume, kind):
    ground = managed(ext4_volume.mount)
    plant(ground.at("old"))
    plant(ground.at("precious"))
    ground.condemn("old")
    content = ground.content()
    source, place = (b"", b"empty") if kind == "folder" else (b"data_1.ckpt", b"data_1.ckpt")
    before = picture(ground.at("precious"))
    run("mount", "--bind", os.path.join(ground.at("precious"), source).rstrip(b"/"), os.path.join(content, place))
    try:
        result = ground.purge()
        assert not result.complete
        assert place in result.mismatched or any(os.fsdecode(place) in error for error in result.errors)
        assert picture(ground.at("precious")) == before
    finally:
        run("umount", os.path.join(content, place))

    assert ground.purge().complete


def test_a_target_in_another_subvolume_goes_to_a_folder_beside_it(btrfs_volume):
    ground = managed(btrfs_volume.mount)
    run("btrfs", "subvolume", "create", ground.at("sub"))
    plant(ground.at("sub/old"))
    before = picture(ground.at("sub/old"))
    seen = placement(ground, "sub/old")
    assert (seen.possible, seen.sibling) == (True, True)

    ground.intend("sub/old", "wrong", sibling=False)
    assert ground.host.set_aside(ground.root, "wrong") is SetAside.CROSS_DEVICE
    assert picture(ground.at("sub/old")) == before
    assert ground.set_aside("sub/old", "right", sibling=True) is SetAside.DONE
    elsewhere = ManagedPath(root=ground.path, relative=b"moved")
    assert ground.host.put_back(ground.root, "right", to=elsewhere, reason="") is PutBack.CROSS_DEVICE
    assert ground.record("right").in_quarantine
    assert ground.host.put_back(ground.root, "right", to=None, reason="") is PutBack.DONE
    assert picture(ground.at("sub/old")) == before


def test_a_subvolume_inside_the_target_goes_with_it(btrfs_volume):
    ground = managed(btrfs_volume.mount)
    os.mkdir(ground.at("old"))
    run("btrfs", "subvolume", "create", ground.at("old/nested"))
    plant(ground.at("old/nested/shards"))
    ground.condemn("old")

    assert ground.purge().complete


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_after_a_power_cut_the_journal_and_the_disk_agree(volumes, kind):
    volume = volumes(FilesystemKind(kind))
    ground = managed(volume.mount)
    for number in range(3):
        plant(ground.at(f"old{number}"))
    before = picture(ground.at("old0"))
    os.sync()
    ground.set_aside("old0", "aside")
    ground.condemn("old1", "gone")
    assert ground.purge("gone").complete
    ground.set_aside("old2", "back")
    ground.host.put_back(ground.root, "back", to=None, reason="")

    cut_power(volume)
    volume.remount()

    check_after_the_cut(ground, before)


def test_after_a_crash_btrfs_and_the_journal_agree(btrfs_volume, tmp_path):
    ground = managed(btrfs_volume.mount)
    for number in range(3):
        plant(ground.at(f"old{number}"))
    before = picture(ground.at("old0"))
    os.sync()
    ground.set_aside("old0", "aside")
    ground.condemn("old1", "gone")
    assert ground.purge("gone").complete
    ground.set_aside("old2", "back")
    ground.host.put_back(ground.root, "back", to=None, reason="")
    copy = crash_copy(btrfs_volume, tmp_path / "crash.image")

    with revived(btrfs_volume, copy):
        check_after_the_cut(ground, before)


def check_after_the_cut(ground, before):
    aside, gone, back = (ground.record(operation) for operation in ("aside", "gone", "back"))
    assert (aside.event, aside.in_quarantine, aside.quarantine_matches) == (JournalEvent.RENAMED, True, True)
    assert (aside.at_original, aside.manifest_intact) == (False, True)
    assert picture(ground.content("aside")) == before
    assert (gone.event, gone.at_original, gone.in_purging) == (JournalEvent.PURGED, False, False)
    assert (back.event, back.original_matches, back.in_quarantine) == (JournalEvent.RESTORED, True, False)
    assert ground.host.put_back(ground.root, "aside", to=None, reason="") is PutBack.DONE


def test_a_file_by_file_clone_of_a_root_is_recognised_although_its_inode_is_the_same(volumes):
    original, clone = (volumes(FilesystemKind.XFS) for _ in range(2))
    ground = managed(original.mount)
    plant(ground.at("old"))
    ground.set_aside("old")
    run("cp", "-a", f"{original.mount}/.", str(clone.mount))
    there = described(os.fsencode(clone.mount))
    assert there.inode == ground.root.inode

    with pytest.raises(HostFailure, match=r"the journal .* belongs to another root: its filesystem_uuid"):
        ground.host.operations(there)
    original.unmount()
    run("mount", "--move", clone.mount, original.mount)
    try:
        with pytest.raises(HostFailure, match="another volume is mounted there"):
            ground.host.operations(ground.root)
    finally:
        run("umount", original.mount)
        original.attach()
    assert ground.record().in_quarantine


@pytest.mark.parametrize(
    ("act", "call", "event"),
    [
        ("set-aside", "fsync", JournalEvent.INTENDED),
        ("set-aside", "fdatasync", JournalEvent.INTENDED),
        ("put-back", "fsync", JournalEvent.RESTORE_INTENDED),
        ("purge", "fsync", JournalEvent.PURGING),
    ],
)
def test_a_disk_that_fails_to_flush_is_never_reported_as_done(ext4_volume, act, call, event):
    ground = managed(ext4_volume.mount)
    plant(ground.at("old"))
    before = picture(ground.at("old"))
    ground.intend("old")
    if act != "set-aside":
        ground.host.set_aside(ground.root, "op1")
        ground.host.confirm(ground.root, "op1")
    if act == "purge":
        ground.host.begin_purge(ground.root, "op1")
    wrapper = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error=EIO")

    done = run_act(ground.path, act, wrapper=wrapper)

    assert done.returncode != 0
    assert "Input/output error" in done.stderr
    record = ground.record()
    assert record.event is event
    if act == "purge":
        assert ground.purge().complete
        return
    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.DONE
    assert picture(ground.at("old")) == before


def test_members_that_cannot_be_unlinked_are_reported_and_go_at_the_next_try(ext4_volume):
    ground = managed(ext4_volume.mount)
    plant(ground.at("old"))
    ground.condemn("old")
    inject = ("-e", "trace=unlink,unlinkat", "-e", "inject=unlink,unlinkat:error=EIO:when=3..4")

    done = run_act(ground.path, "purge", wrapper=("strace", "-f", "-qq", "-o", "/dev/null", *inject))

    assert "complete=False" in done.stdout
    assert done.stdout.count("Input/output error") == 2
    assert ground.record().event is JournalEvent.PURGING
    assert ground.purge().complete


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_without_the_kernels_promise_never_to_replace_an_occupant_is_still_safe(ext4_volume, kind):
    ground = managed(ext4_volume.mount)
    if kind == "folder":
        plant(ground.at("old"))
    else:
        ground_file(ground.at("old"))
    before = picture(ground.at("old"))
    no_promise = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2")
    no_promise = (*no_promise, "-e", "inject=renameat2:error=EINVAL")
    ground.intend("old")

    assert run_act(ground.path, "set-aside", wrapper=no_promise).stdout == "done\n"
    os.mkdir(ground.at("old"))
    assert run_act(ground.path, "put-back", wrapper=no_promise).stdout == "occupied\n"
    os.rmdir(ground.at("old"))
    assert run_act(ground.path, "put-back", wrapper=no_promise).stdout == "done\n"
    assert picture(ground.at("old")) == before


def ground_file(path):
    with open(path, "wb") as file:
        file.write(b"states")


def test_ten_thousand_members_need_a_small_manifest_and_little_time(tmpfs_volume):
    ground = managed(tmpfs_volume.mount)
    for folder in range(20):
        os.makedirs(ground.at(f"old/rows_{folder}"))
        for number in range(500):
            os.close(os.open(ground.at(f"old/rows_{folder}/hs_{number}.safetensors"), os.O_CREAT | os.O_WRONLY))
    began = time.monotonic()
    ground.condemn("old")
    manifest_bytes = os.path.getsize(ground.quarantine("op1.purging/members.gz"))

    result = ground.purge()

    assert (result.complete, result.removed_files) == (True, 10_000)
    assert manifest_bytes < 60 * 10_000
    assert time.monotonic() - began < 20
