"""What is set aside comes back byte for byte with the same inodes, or goes for good."""

import os
import socket

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.observation import MarkerState
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import PutBack, SetAside

from .act_ground import managed, picture, plant


@pytest.fixture
def ground(tmp_path):
    return managed(tmp_path)


def test_a_restore_gives_back_the_same_tree_with_the_same_inodes(ground):
    plant(ground.at("old"))
    before = picture(ground.at("old"))

    assert ground.set_aside("old") is SetAside.DONE
    ground.host.confirm(ground.root, "op1")
    assert not os.path.exists(ground.at("old"))
    assert ground.host.put_back(ground.root, "op1", to=None, reason="changed my mind") is PutBack.DONE

    assert picture(ground.at("old")) == before
    record = ground.record()
    assert (record.event, record.at_original, record.original_matches) == (JournalEvent.RESTORED, True, True)
    assert record.restored_to == b"old"


def test_a_purge_removes_everything_and_says_how_much(ground):
    plant(ground.at("old"), files=3)
    members = [path for path in picture(ground.at("old")) if not os.path.isdir(os.path.join(ground.at("old"), path))]

    ground.condemn("old")
    result = ground.purge()

    assert (result.complete, result.mismatched, result.errors) == (True, (), ())
    assert result.removed_files == len(members)
    assert not os.path.exists(ground.at("old"))
    record = ground.record()
    assert record.event is JournalEvent.PURGED
    assert not any((record.in_quarantine, record.in_purging, record.at_original))
    assert not [name for name in os.listdir(ground.quarantine()) if name.startswith(b"op")]


def test_removed_bytes_are_what_the_tree_occupied(ground):
    plant(ground.at("old"))
    inodes = {}
    for here, folders, files in os.walk(ground.at("old")):
        for path in [here, *(os.path.join(here, name) for name in (*folders, *files))]:
            inodes[os.lstat(path).st_ino] = os.lstat(path).st_blocks * 512
    ground.condemn("old")

    assert ground.purge().removed_bytes == sum(inodes.values())


def test_a_hard_link_from_outside_keeps_its_bytes_uncounted(ground):
    plant(ground.at("old"), files=1, size=1 << 20)
    os.link(ground.at("old/data_0.ckpt"), ground.at("kept"))
    ground.condemn("old")

    result = ground.purge()

    assert result.complete
    assert result.removed_bytes < 2 << 20
    assert os.path.getsize(ground.at("kept")) == 1 << 20


@pytest.mark.parametrize("name", [b"single.ckpt", b"caf\xe9 \n$(rm)", b"-rf"])
def test_a_single_file_makes_the_round_trip(ground, name):
    with open(ground.at(name), "wb") as file:
        file.write(b"states")
    before = picture(ground.at(name))

    assert ground.set_aside(name) is SetAside.DONE
    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.DONE
    assert picture(ground.at(name)) == before
    ground.condemn(name, "op2")

    assert ground.purge("op2").complete
    assert not os.path.lexists(ground.at(name))


def test_special_files_are_members_and_go_with_the_rest(ground):
    os.mkdir(ground.at("old"))
    os.mkfifo(ground.at("old/pipe"))
    os.symlink(b"/nonexistent", ground.at("old/dangling"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fsdecode(ground.at("old/socket")))
    ground.condemn("old")

    result = ground.purge()

    assert (result.complete, result.removed_files) == (True, 3)


def test_links_are_unlinked_and_never_followed(ground):
    plant(ground.at("precious"))
    before = picture(ground.at("precious"))
    os.mkdir(ground.at("old"))
    os.symlink(ground.at("precious"), ground.at("old/elsewhere"))
    ground.condemn("old")

    assert ground.purge().complete
    assert picture(ground.at("precious")) == before


def test_two_quarantines_of_the_same_place_are_kept_apart(ground):
    plant(ground.at("old"), files=1)
    assert ground.set_aside("old", "first") is SetAside.DONE
    plant(ground.at("old"), files=2)
    second = picture(ground.at("old"))
    assert ground.set_aside("old", "second") is SetAside.DONE

    assert ground.host.put_back(ground.root, "second", to=None, reason="") is PutBack.DONE
    assert picture(ground.at("old")) == second
    assert ground.host.put_back(ground.root, "first", to=None, reason="") is PutBack.OCCUPIED


def test_an_operation_name_is_used_once(ground):
    plant(ground.at("old"))
    ground.intend("old")

    with pytest.raises(HostFailure, match="already in the journal"):
        ground.intend("old")


@pytest.mark.parametrize("name", ["", "../x", "a/b", "spare-1", ".purging", "a.purging", "-rf", "x" * 200])
def test_a_name_that_could_lead_elsewhere_names_no_operation(ground, name):
    plant(ground.at("old"))

    with pytest.raises(HostFailure, match="cannot name an operation"):
        ground.intend("old", name)


def test_restoring_elsewhere_below_the_root_works(ground):
    plant(ground.at("old"))
    before = picture(ground.at("old"))
    ground.set_aside("old")
    os.mkdir(ground.at("saved"))
    to = ManagedPath(root=ground.path, relative=b"saved/again")

    assert ground.host.put_back(ground.root, "op1", to=to, reason="occupied") is PutBack.DONE
    assert picture(ground.at("saved/again")) == before
    assert ground.record().restored_to == b"saved/again"


@pytest.mark.parametrize("kind", ["file", "empty folder", "full folder", "dangling link"])
def test_an_occupied_place_refuses_the_restore_and_nothing_is_lost(ground, kind):
    plant(ground.at("old"))
    before = picture(ground.at("old"))
    ground.set_aside("old")
    ground.host.confirm(ground.root, "op1")
    if kind == "file":
        with open(ground.at("old"), "wb") as file:
            file.write(b"new")
    elif kind == "dangling link":
        os.symlink("nowhere", ground.at("old"))
    else:
        os.mkdir(ground.at("old"))
        if kind == "full folder":
            os.mkdir(ground.at("old/x"))
    occupant = os.lstat(ground.at("old")).st_ino

    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.OCCUPIED

    record = ground.record()
    assert os.lstat(ground.at("old")).st_ino == occupant
    assert (record.event, record.in_quarantine, record.quarantine_matches) == (JournalEvent.QUARANTINED, True, True)
    assert (record.at_original, record.original_matches) == (True, False)
    assert picture(ground.content()) == before


def test_a_parent_that_became_a_link_is_no_place_to_restore_to(ground, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    plant(ground.at("runs/old"))
    ground.set_aside("runs/old")
    os.rmdir(ground.at("runs"))
    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.NO_PARENT
    os.symlink(outside, ground.at("runs"))

    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.NO_PARENT
    assert os.listdir(outside) == []


def test_once_the_purge_has_begun_nothing_is_put_back(ground):
    plant(ground.at("old"))
    ground.condemn("old")

    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.PURGING
    assert ground.record().in_purging
    ground.purge()
    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.PURGING


def test_a_purge_needs_the_second_look(ground):
    plant(ground.at("old"))
    ground.set_aside("old")

    with pytest.raises(HostFailure, match="cannot be purged: it is renamed"):
        ground.host.begin_purge(ground.root, "op1")
    with pytest.raises(HostFailure, match="cannot be purged: it is renamed"):
        ground.purge()


def test_an_abandoned_intent_leaves_the_target_where_it_is(ground):
    plant(ground.at("old"))
    before = picture(ground.at("old"))
    ground.intend("old")

    ground.host.abandon(ground.root, "op1", "a guard refused")

    assert picture(ground.at("old")) == before
    assert ground.record().event is JournalEvent.ABANDONED
    with pytest.raises(HostFailure, match="cannot be set aside: it is abandoned"):
        ground.host.set_aside(ground.root, "op1")


def test_what_is_in_quarantine_cannot_be_abandoned(ground):
    plant(ground.at("old"))
    ground.set_aside("old")

    with pytest.raises(HostFailure, match="cannot be abandoned"):
        ground.host.abandon(ground.root, "op1", "")


def test_a_sibling_placement_makes_the_round_trip(ground):
    plant(ground.at("runs/old"))
    before = picture(ground.at("runs/old"))

    assert ground.set_aside("runs/old", sibling=True) is SetAside.DONE
    record = ground.record()
    assert record.placed == b"runs/.artifactctl-quarantine-op1/content"
    assert record.in_quarantine
    assert picture(ground.content()) == before
    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.DONE
    assert picture(ground.at("runs/old")) == before
    assert os.listdir(ground.at("runs")) == [b"old"]

    ground.condemn("runs/old", "op2", sibling=True)
    assert ground.record("op2").in_purging
    assert ground.purge("op2").complete
    assert os.listdir(ground.at("runs")) == []


def test_the_manifest_has_the_fingerprint_that_both_looks_have(ground):
    plant(ground.at("old"))
    target = ManagedPath(root=ground.path, relative=b"old")
    first = ground.host.observe(ground.root, target, catalog_id="catalog-1", catalog_epoch=1)

    recorded = ground.intend("old")
    ground.host.set_aside(ground.root, "op1")
    second = ground.host.observe_quarantined(ground.root, "op1")

    assert recorded == first.tree.fingerprint == second.tree.fingerprint
    assert ground.record().fingerprint == recorded
    assert second.confinement.marker is MarkerState.MATCHES
    assert second.identity == first.identity


def test_a_file_written_after_the_manifest_changes_the_fingerprint(ground):
    plant(ground.at("old"))
    recorded = ground.intend("old")
    ground.host.set_aside(ground.root, "op1")
    with open(os.path.join(ground.path, ground.record().placed, b"rows_0-5000/data_9.ckpt"), "wb") as file:
        file.write(b"late")

    assert ground.host.observe_quarantined(ground.root, "op1").tree.fingerprint != recorded


def test_a_target_that_was_replaced_or_removed_is_not_set_aside(ground):
    plant(ground.at("old"))
    plant(ground.at("other"))
    ground.intend("old", "op1")
    ground.intend("other", "op2")
    os.rename(ground.at("old"), ground.at("moved"))
    os.mkdir(ground.at("old"))
    os.rename(ground.at("other"), ground.at("moved2"))

    assert ground.host.set_aside(ground.root, "op1") is SetAside.REPLACED
    assert ground.host.set_aside(ground.root, "op2") is SetAside.ABSENT
    assert os.path.isdir(ground.at("old"))
    assert ground.record("op1").original_matches is False


def test_a_target_behind_a_link_is_not_set_aside(ground):
    plant(ground.at("runs/old"))
    ground.intend("runs/old")
    os.rename(ground.at("runs"), ground.at("elsewhere"))
    os.symlink("elsewhere", ground.at("runs"))

    assert ground.host.set_aside(ground.root, "op1") is SetAside.REPLACED
    assert os.path.isdir(ground.at("elsewhere/old"))


def test_an_open_file_is_in_use(ground):
    with open(ground.at("single"), "wb") as file:
        file.write(b"x")
    ground.intend("single")
    with open(ground.at("single"), "rb"):
        assert ground.host.set_aside(ground.root, "op1") is SetAside.IN_USE
    assert os.path.exists(ground.at("single"))

    assert ground.host.set_aside(ground.root, "op1") is SetAside.DONE
