"""Invariant I11: quarantine, restore and purge work on a volume on which nothing more can be written."""

import os

import pytest

from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.probe import room
from artifactctl.hosts.protocol import PutBack, SetAside
from tests.bench.volumes import FilesystemKind, fill_with_bytes, fill_with_files
from tests.hosts.act_ground import managed, picture, plant

pytestmark = pytest.mark.system


def fill_to_the_last_block(volume):
    """Fill again and again: what a filesystem frees a moment later is taken as well."""
    folder = fill_with_bytes(volume)
    for _ in range(3):
        for name in sorted(os.listdir(folder)):
            with open(folder / name, "ab", buffering=0) as file, pytest.raises(OSError, match="No space left"):
                append_without_end(file)


def append_without_end(file):
    while True:
        file.write(os.urandom(4096))
        os.fdatasync(file.fileno())


@pytest.fixture(params=["ext4", "xfs", "btrfs"])
def full(request, volumes):
    """A managed root on a volume that was filled after ten artifacts had been written to it."""
    volume = volumes(FilesystemKind(request.param))
    ground = managed(volume.mount)
    for number in range(10):
        plant(ground.at(f"old{number}"), files=2, size=20_000)
    fill_to_the_last_block(volume)
    with pytest.raises(OSError, match="No space left"):
        write_new(ground.at("one-more"))
    return ground


def write_new(path):
    with open(path, "wb") as file:
        file.write(b"x" * 5000)
        file.flush()
        os.fsync(file.fileno())


def test_ten_artifacts_in_a_row_are_set_aside_restored_and_purged_on_a_full_volume(full):
    for number in range(10):
        name, operation = f"old{number}", f"op{number}"
        before = picture(full.at(name))
        assert full.set_aside(name, operation) is SetAside.DONE
        full.host.confirm(full.root, operation)
        assert full.host.put_back(full.root, operation, to=None, reason="") is PutBack.DONE
        assert picture(full.at(name)) == before
        assert full.set_aside(name, operation + "again") is SetAside.DONE
        full.host.confirm(full.root, operation + "again")
    assert len(full.host.operations(full.root)) == 20

    for number in range(10):
        full.host.begin_purge(full.root, f"op{number}again")
        assert full.purge(f"op{number}again").complete

    events = [record.event for record in full.host.operations(full.root)]
    assert events == [JournalEvent.RESTORED, JournalEvent.PURGED] * 10


def test_holds_are_mirrored_again_and_again_on_a_full_volume(full):
    for number in range(12):
        full.host.mirror(full.root.path, "holds", b'{"holds": [%d]}' % number)

    assert full.host.read_mirror(full.root.path, "holds") == b'{"holds": [11]}'


def test_a_sibling_placement_works_on_a_full_volume(full):
    before = picture(full.at("old0/rows_0-5000"))
    assert full.set_aside("old0/rows_0-5000", sibling=True) is SetAside.DONE
    assert full.host.put_back(full.root, "op1", to=None, reason="") is PutBack.DONE
    assert picture(full.at("old0/rows_0-5000")) == before


def test_the_ballast_is_made_anew_when_there_is_space_again(full):
    for number in range(10):
        full.set_aside(f"old{number}", f"op{number}")
    for name in os.listdir(full.at("filler")):
        os.unlink(full.at(b"filler/" + name))
    os.sync()
    full.host.confirm(full.root, "op0")
    full.host.begin_purge(full.root, "op0")
    full.purge("op0")

    assert len(os.listdir(full.at(".artifactctl/ballast"))) == room.BALLAST_FILES
    spares = [name for name in os.listdir(full.quarantine()) if name.startswith(b"spare-")]
    assert len(spares) >= room.SPARE_FOLDERS


@pytest.mark.parametrize("kind", ["ext4", "tmpfs"])
def test_quarantine_restore_and_purge_work_without_a_free_inode(volumes, kind):
    volume = volumes(FilesystemKind(kind), inodes=200)
    ground = managed(volume.mount)
    for number in range(6):
        plant(ground.at(f"old{number}"), files=2)
    fill_with_files(volume)
    with pytest.raises(OSError, match="No space left"):
        write_new(ground.at("one-more"))

    for number in range(6):
        before = picture(ground.at(f"old{number}"))
        assert ground.set_aside(f"old{number}", f"a{number}") is SetAside.DONE
        assert ground.host.put_back(ground.root, f"a{number}", to=None, reason="") is PutBack.DONE
        assert picture(ground.at(f"old{number}")) == before
        assert ground.set_aside(f"old{number}", f"b{number}") is SetAside.DONE
        ground.host.mirror(ground.path, "holds", b"%d" % number)
    for number in range(6):
        ground.host.confirm(ground.root, f"b{number}")
        ground.host.begin_purge(ground.root, f"b{number}")
        assert ground.purge(f"b{number}").complete
