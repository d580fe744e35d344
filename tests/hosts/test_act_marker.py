"""The private folder of a root: who may own it, what is in it, and what it refuses to be."""

import os

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.hosts.local import LocalHost
from artifactctl.hosts.probe import room
from artifactctl.hosts.protocol import SetAside

from .act_child import start_act
from .act_ground import managed, picture, plant


@pytest.fixture
def ground(tmp_path):
    return managed(tmp_path)


def test_the_private_folder_is_closed_to_others_and_complete(ground):
    status = os.lstat(ground.at(".artifactctl"))

    assert status.st_mode & 0o777 == 0o700
    assert {"root.json", "journal", "lock", "ballast", "quarantine"} <= {
        os.fsdecode(name) for name in os.listdir(ground.at(".artifactctl"))
    }
    assert len(os.listdir(ground.at(".artifactctl/ballast"))) == room.BALLAST_FILES
    spares = [name for name in os.listdir(ground.quarantine()) if name.startswith(b"spare-")]
    assert len(spares) == room.SPARE_FOLDERS


def test_a_directory_without_a_marker_has_none(tmp_path):
    assert LocalHost().read_marker(os.fsencode(tmp_path)) is None


@pytest.mark.parametrize("content", [b"", b"not json", b"[]", b'{"schema": "artifactctl.root/99"}', b"{}"])
def test_a_marker_that_cannot_be_understood_is_a_failure_and_not_a_missing_one(ground, content):
    with open(ground.at(".artifactctl/root.json"), "wb") as file:
        file.write(content)

    with pytest.raises(HostFailure, match=r"marker of .* cannot be read"):
        ground.host.read_marker(ground.path)


def test_a_private_folder_that_is_a_link_is_never_used(ground, tmp_path_factory):
    plant(ground.at("old"))
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "private"
    os.rename(ground.at(".artifactctl"), elsewhere)
    os.symlink(elsewhere, ground.at(".artifactctl"))

    with pytest.raises(HostFailure, match="is not a folder but a link or a file"):
        ground.intend("old")
    with pytest.raises(HostFailure, match="is not a folder but a link or a file"):
        ground.host.read_marker(ground.path)


def test_a_private_folder_that_others_can_enter_is_never_used(ground):
    plant(ground.at("old"))
    os.chmod(ground.at(".artifactctl"), 0o750)

    with pytest.raises(HostFailure, match="is open to other users"):
        ground.intend("old")


def test_a_root_that_is_gone_is_a_failure(ground):
    os.rename(ground.path, ground.path + b".gone")

    with pytest.raises(HostFailure, match="cannot open the root"):
        ground.host.operations(ground.root)


def test_a_mirror_gives_back_what_was_mirrored(ground):
    assert ground.host.read_mirror(ground.path, "holds") is None

    for content in (b"{}", b'{"holds": "' + b"x" * 100_000 + b'"}\n', b"\n \xff"):
        ground.host.mirror(ground.path, "holds", content)
        assert ground.host.read_mirror(ground.path, "holds") == content


def test_a_damaged_mirror_is_a_failure_and_not_an_absent_one(ground):
    ground.host.mirror(ground.path, "holds", b'{"holds": ["corpus"]}')
    with open(ground.at(".artifactctl/holds.json"), "r+b") as file:
        file.seek(100)
        file.write(b"#")

    with pytest.raises(HostFailure, match="is damaged: what it protected is not known"):
        ground.host.read_mirror(ground.path, "holds")


@pytest.mark.parametrize("topic", ["root", "../x", "", "Holds"])
def test_a_mirror_cannot_take_the_name_of_something_else(ground, topic):
    with pytest.raises(HostFailure, match="cannot name a mirror"):
        ground.host.mirror(ground.path, topic, b"{}")


def test_a_placement_is_found_without_changing_anything(ground):
    plant(ground.at("runs/old"))
    before = picture(ground.path)

    found = ground.host.placement(ground.root, ManagedPath(root=ground.path, relative=b"runs/old"))
    absent = ground.host.placement(ground.root, ManagedPath(root=ground.path, relative=b"runs/none"))

    assert (found.possible, found.sibling) == (True, False)
    assert (absent.possible, absent.detail) == (False, "runs/none does not exist")
    assert picture(ground.path) == before


def test_a_folder_swapped_for_a_link_while_the_manifest_is_written_is_not_followed(ground, tmp_path_factory):
    plant(ground.at("runs/old"))
    plant(ground.at("precious/old"))
    fifo = tmp_path_factory.mktemp("fifo") / "waiting"
    os.mkfifo(fifo)
    os.rename(ground.at("runs/old"), ground.at("old"))
    process = start_act(ground.path, "intend", f"intend:folder-made=fifo:{fifo}")
    release = os.open(fifo, os.O_WRONLY)
    os.rename(ground.at("old"), ground.at("taken"))
    os.symlink(ground.at("precious/old"), ground.at("old"))
    os.close(release)
    _, errors = process.communicate(timeout=60)

    assert process.returncode != 0
    assert "another file or folder stands at old now" in errors
    assert ground.host.operations(ground.root) == ()
    assert not [name for name in os.listdir(ground.quarantine()) if name.startswith(b"op")]
    assert ground.set_aside("taken") is SetAside.DONE


def test_what_a_crash_left_in_the_quarantine_is_swept_by_the_next_purge(ground):
    for name in ("old", "other"):
        plant(ground.at(name))
    start_act(ground.path, "intend", "intend:note-written=kill").communicate(timeout=60)
    assert os.path.isdir(ground.quarantine("op1"))
    ground.condemn("other", "op2")

    assert ground.purge("op2").complete

    assert not [name for name in os.listdir(ground.quarantine()) if name.startswith(b"op")]
