"""What a purge leaves alone, how it stops, and how deep it goes."""

import os
import subprocess
import time

import pytest

from artifactctl.domain.errors import Busy, HostFailure
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe import kernel, manifest

from .act_child import start_act
from .act_ground import managed, picture, plant


@pytest.fixture
def ground(tmp_path):
    return managed(tmp_path)


def quarantined(ground, relative=b""):
    return ground.content(relative=relative)


def rewrite_in_place(path):
    with open(path, "r+b") as file:
        file.write(b"!")


def grow(path):
    with open(path, "ab") as file:
        file.write(b"more")


def replace(path):
    with open(path, "rb") as file, open(path + b".new", "wb") as copy:
        copy.write(file.read())
    os.rename(path + b".new", path)


def become_a_folder(path):
    os.unlink(path)
    os.mkdir(path)


@pytest.mark.parametrize("change", [rewrite_in_place, grow, replace, become_a_folder])
def test_a_member_that_differs_from_the_manifest_is_left_and_named(ground, change):
    plant(ground.at("old"))
    ground.condemn("old")
    time.sleep(0.02)  # so that the clock of the filesystem has moved on
    change(quarantined(ground, b"rows_0-5000/data_1.ckpt"))

    result = ground.purge()

    assert not result.complete
    assert result.mismatched == (b"rows_0-5000/data_1.ckpt",)
    assert sorted(picture(quarantined(ground))) == [b"", b"rows_0-5000", b"rows_0-5000/data_1.ckpt"]
    assert ground.record().event is JournalEvent.PURGING


def test_a_file_that_no_manifest_lists_is_left_and_named(ground):
    plant(ground.at("old"))
    ground.condemn("old")
    os.mkdir(quarantined(ground, b"rows_0-5000/new"))
    with open(quarantined(ground, b"rows_0-5000/new/late.ckpt"), "wb") as file:
        file.write(b"late")

    result = ground.purge()

    assert (result.complete, result.mismatched) == (False, (b"rows_0-5000/new",))
    with open(quarantined(ground, b"rows_0-5000/new/late.ckpt"), "rb") as file:
        assert file.read() == b"late"


def test_what_is_left_can_be_taken_out_and_the_purge_completed(ground):
    plant(ground.at("old"))
    ground.condemn("old")
    with open(quarantined(ground, b"late"), "wb") as file:
        file.write(b"late")
    assert not ground.purge().complete
    os.rename(quarantined(ground, b"late"), ground.at("late"))

    assert ground.purge().complete
    assert ground.record().event is JournalEvent.PURGED


def test_a_folder_that_was_replaced_is_not_entered(ground):
    plant(ground.at("old"))
    plant(ground.at("precious"))
    before = picture(ground.at("precious"))
    ground.condemn("old")
    os.rename(quarantined(ground, b"rows_0-5000"), ground.at("taken"))
    os.rename(ground.at("precious"), quarantined(ground, b"rows_0-5000"))

    result = ground.purge()

    assert result.mismatched == (b"rows_0-5000",)
    assert picture(quarantined(ground, b"rows_0-5000")) == before


def test_a_folder_swapped_for_a_link_leads_nowhere(ground):
    plant(ground.at("old"))
    plant(ground.at("precious"))
    before = picture(ground.at("precious"))
    ground.condemn("old")
    os.rename(quarantined(ground, b"rows_0-5000"), ground.at("taken"))
    os.symlink(ground.at("precious"), quarantined(ground, b"rows_0-5000"))

    assert ground.purge().mismatched == (b"rows_0-5000",)
    assert picture(ground.at("precious")) == before


def wait_at(ground, tmp_path, act, point):
    """Start an act and return (process, function that lets it go on) once it waits at the point."""
    fifo = tmp_path / "waiting"
    os.mkfifo(fifo)
    process = start_act(ground.path, act, f"{point}=fifo:{fifo}")
    release = os.open(fifo, os.O_WRONLY)

    def go_on():
        fifo.unlink()
        os.close(release)
        output, errors = process.communicate(timeout=60)
        return output + errors

    return process, go_on


def test_a_folder_swapped_for_a_link_while_the_purge_stands_in_it_loses_nothing_outside(ground, tmp_path_factory):
    plant(ground.at("old"), files=50)
    plant(ground.at("precious"), files=50)
    before = picture(ground.at("precious"))
    ground.condemn("old")
    _, go_on = wait_at(ground, tmp_path_factory.mktemp("fifo"), "purge", "purge:member-removed")
    place = quarantined(ground)
    os.rename(place, ground.at("taken"))
    os.symlink(ground.at("precious"), place)

    go_on()

    assert picture(ground.at("precious")) == before


def test_a_folder_moved_out_during_the_purge_is_not_emptied_at_its_new_place(ground, tmp_path_factory):
    plant(ground.at("old"), files=200)
    members = len(picture(ground.at("old")))
    ground.condemn("old")
    _, go_on = wait_at(ground, tmp_path_factory.mktemp("fifo"), "purge", "purge:member-removed")
    os.rename(quarantined(ground), ground.at("rescued"))
    time.sleep(0.06)  # longer than one batch

    output = go_on()

    assert "moved out of the quarantine" in output
    assert "complete=False" in output
    assert len(picture(ground.at("rescued"))) == members - 1


def test_an_inner_folder_moved_out_during_a_paced_purge_keeps_its_members(ground):
    plant(ground.at("old"), files=100)
    ground.condemn("old")
    process = start_act(ground.path, "slow-purge", "")
    while len(os.listdir(quarantined(ground, b"rows_0-5000"))) == 101:
        time.sleep(0.02)
        assert process.poll() is None
    os.rename(quarantined(ground, b"rows_0-5000"), ground.at("rescued"))
    time.sleep(0.1)
    kept = len(os.listdir(ground.at("rescued")))

    output, _ = process.communicate(timeout=60)

    assert "moved out of the quarantine" in output
    assert len(os.listdir(ground.at("rescued"))) == kept > 50


def test_a_purge_is_stopped_between_two_unlinks_and_completed_later(ground):
    plant(ground.at("old"), files=30)
    total = len([path for path in picture(ground.at("old")) if path not in (b"", b"empty", b"rows_0-5000")])
    ground.condemn("old")
    removed = []

    first = ground.purge(
        should_stop=lambda: len(removed) >= 7, progress=lambda files, size: removed.append((files, size))
    )

    assert (first.complete, first.interrupted, first.removed_files, first.errors) == (False, True, 7, ())
    assert [files for files, _ in removed] == list(range(1, 8))
    second = ground.purge()
    assert (second.complete, second.removed_files) == (True, total - 7)


def test_a_paced_purge_takes_its_time(ground):
    os.mkdir(ground.at("old"))
    for number in range(11):
        os.close(os.open(ground.at(f"old/{number}"), os.O_CREAT | os.O_WRONLY))
    ground.condemn("old")

    began = time.monotonic()
    assert ground.purge(files_per_second=50.0).complete

    assert 0.19 < time.monotonic() - began < 2.0


def test_a_purge_that_loses_the_lock_removes_nothing_more(ground):
    plant(ground.at("old"), files=100)
    ground.condemn("old")
    lock = ground.host.lock(ground.root)

    def steal(files, _):
        if files == 3:
            os.unlink(ground.at(".artifactctl/lock"))
            time.sleep(0.06)

    result = ground.purge(progress=steal)

    assert (result.complete, result.interrupted, result.removed_files) == (False, True, 3)
    assert "lock was lost" in result.errors[0]
    with pytest.raises(HostFailure, match=r"lock of .* was lost"):
        ground.purge()
    lock.release()
    assert ground.purge().complete


def test_only_one_may_act_on_a_root(ground):
    plant(ground.at("old"))
    other = LocalHost()
    lock = other.lock(ground.root)

    with pytest.raises(Busy, match=f"locked by process {os.getpid()}"):
        ground.intend("old")
    with pytest.raises(Busy):
        ground.host.lock(ground.root)
    lock.release()

    ground.intend("old")
    assert not lock.still_held()


def test_a_lock_dies_with_its_process(ground):
    plant(ground.at("old"))
    ground.condemn("old")
    process = start_act(ground.path, "slow-purge", "purge:folder-entered=kill")
    process.communicate(timeout=60)

    assert ground.purge().complete


def make_deep(top, levels, name):
    """Nest folders far beyond PATH_MAX, with a file on every hundredth level."""
    os.mkdir(top)
    current = os.open(top, os.O_RDONLY)
    for level in range(levels):
        os.mkdir(name, dir_fd=current)
        inner = os.open(name, os.O_RDONLY, dir_fd=current)
        if level % 100 == 0:
            os.close(os.open(b"shard\xff", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        os.close(current)
        current = inner
    os.close(current)


def test_a_tree_of_5000_levels_is_set_aside_restored_and_purged(ground):
    make_deep(ground.at("old"), 5000, b"d\xe9pth")
    inode = os.lstat(ground.at("old")).st_ino
    ground.set_aside("old")
    ground.host.put_back(ground.root, "op1", to=None, reason="")
    assert os.lstat(ground.at("old")).st_ino == inode
    ground.condemn("old", "op2")

    result = ground.purge("op2")

    assert (result.complete, result.removed_files, result.errors) == (True, 50, ())


def test_a_damaged_manifest_permits_no_purge_but_a_restore(ground):
    plant(ground.at("old"))
    before = picture(ground.at("old"))
    ground.set_aside("old")
    ground.host.confirm(ground.root, "op1")
    with open(ground.quarantine("op1/members.gz"), "r+b") as file:
        file.seek(60)
        file.write(b"\0" * 40)

    assert not ground.record().manifest_intact
    with pytest.raises(HostFailure, match="manifest of operation op1 is damaged"):
        ground.host.begin_purge(ground.root, "op1")
    assert picture(quarantined(ground)) == before
    ground.host.put_back(ground.root, "op1", to=None, reason="")
    assert picture(ground.at("old")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may set the immutable attribute")
def test_an_immutable_member_stays_and_is_reported(ground):
    plant(ground.at("old"))
    ground.condemn("old")
    fixed = quarantined(ground, b"rows_0-5000/data_1.ckpt")
    subprocess.run(["chattr", "+i", fixed], check=True)
    try:
        result = ground.purge()
    finally:
        subprocess.run(["chattr", "-i", fixed], check=True)

    assert not result.complete
    assert result.errors == ("rows_0-5000/data_1.ckpt: Operation not permitted",)
    assert sorted(picture(quarantined(ground))) == [b"", b"rows_0-5000", b"rows_0-5000/data_1.ckpt"]
    assert ground.purge().complete


@pytest.mark.parametrize("name", [b"../../../../victim", b"..", b".", b"rows_0-5000/data_1.ckpt"])
def test_a_manifest_that_leads_out_of_its_folder_permits_no_purge(ground, name):
    """Who owns the root may write there, and somebody else with more rights may be the one who purges."""
    plant(ground.at("old"))
    victim = ground.at("victim")
    with open(victim, "wb") as file:
        file.write(b"precious")
    ground.condemn("old")
    forge(ground, lambda members, there: [members[0], there._replace(name=name), *members[1:]], victim)

    with pytest.raises(HostFailure, match="manifest of operation op1 is damaged"):
        ground.purge()

    assert os.path.exists(victim)
    assert len(picture(quarantined(ground))) > 1


def test_a_manifest_whose_members_lie_in_no_folder_permits_no_purge(ground):
    plant(ground.at("old"))
    ground.condemn("old")
    forge(ground, lambda members, there: [members[0], members[1]._replace(depth=7), *members[2:]], ground.at("old"))

    with pytest.raises(HostFailure, match="lies in no folder before it"):
        ground.purge()


def forge(ground, change, path):
    """Write the manifest of op1 anew, whole in itself, as `change(members, member for path)` wants it."""
    there = manifest.Member(1, "f", 0, None, 0, 0, 0, 0, 1, b"-", b"")
    if os.path.exists(path):
        status = kernel.statx(path, -100)
        facts = (status.inode, status.birth_ns, status.size, status.allocated_bytes)
        there = manifest.Member(1, "f", *facts, status.modified_ns, status.changed_ns, status.links, b"-", b"")
    folder = os.open(ground.quarantine("op1.purging"), os.O_RDONLY | os.O_DIRECTORY)
    try:
        members = list(manifest.read(folder, "op1"))
        manifest.write(folder, "op1", iter(change(members, there)), lambda member: None)
    finally:
        os.close(folder)
