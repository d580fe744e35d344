"""The journal: what survives a torn write, what counts as damage, and whose journal it is."""

import json
import os
import shutil

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.probe import journal, places
from artifactctl.hosts.probe.rootfolder import RootFolder
from artifactctl.hosts.protocol import Marker, PutBack, SetAside

from .act_ground import described, managed, picture, plant


@pytest.fixture
def ground(tmp_path):
    ground = managed(tmp_path / "root" if (tmp_path / "root").mkdir() is None else tmp_path)
    plant(ground.at("old"))
    return ground


def journal_path(ground):
    return ground.at(".artifactctl/journal")


def written(ground):
    with open(journal_path(ground), "rb") as file:
        return file.read()


def rewrite(ground, content):
    with open(journal_path(ground), "r+b") as file:
        file.write(content)


def opened(ground):
    root = ground.root
    return RootFolder(places.RootReference(root.path, root.root_id, root.filesystem_uuid, root.inode))


def test_every_record_is_one_line_that_a_person_can_read(ground):
    ground.set_aside("old")

    lines = written(ground).rstrip(b"\0").splitlines()

    records = [json.loads(line[24:]) for line in lines]
    assert [record.get("event") for record in records] == [None, "intended", "renamed"]
    assert [record["number"] for record in records] == [0, 1, 2]


@pytest.mark.parametrize("kept", range(1, 12))
def test_a_torn_last_record_never_happened(ground, kept):
    ground.intend("old")
    ground.host.set_aside(ground.root, "op1")
    content = journal.parse(written(ground))
    start = content.end - len(written(ground)[: content.end].splitlines(keepends=True)[-1])
    length = content.end - start
    cut = start + length * kept // 12
    rewrite(ground, written(ground)[:cut] + bytes(content.end - cut))

    assert ground.record().event is JournalEvent.INTENDED
    assert ground.host.set_aside(ground.root, "op1") is SetAside.DONE
    assert ground.record().event is JournalEvent.RENAMED
    assert not journal.parse(written(ground)).torn


def test_a_torn_record_whose_second_half_reached_the_disk_never_happened(ground):
    ground.set_aside("old")
    content = journal.parse(written(ground))
    line = written(ground)[: content.end].splitlines(keepends=True)[-1]
    start = content.end - len(line)
    rewrite(ground, written(ground)[:start] + bytes(len(line) // 2))

    assert ground.record().event is JournalEvent.INTENDED


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_record_in_the_middle_stops_everything(ground, place):
    ground.set_aside("old")
    ground.host.confirm(ground.root, "op1")
    raw = written(ground)
    end = journal.parse(raw).end
    header = raw.index(b"\n") + 1
    at = int(header + (end - 200 - header) * place)
    rewrite(ground, raw[:at] + b"#" + raw[at + 1 :])

    with pytest.raises(HostFailure, match="journal is damaged") as failure:
        ground.host.operations(ground.root)
    assert "move .artifactctl/journal aside" in failure.value.remedy
    with pytest.raises(HostFailure, match="journal is damaged"):
        ground.host.put_back(ground.root, "op1", to=None, reason="")


def test_after_the_journal_was_lost_a_quarantine_is_found_by_its_note_and_restored(ground):
    before = picture(ground.at("old"))
    plant(ground.at("other"))
    ground.set_aside("old")
    ground.condemn("other", "op2")
    os.unlink(journal_path(ground))
    with pytest.raises(HostFailure, match=r"journal of .* is missing"):
        ground.host.operations(ground.root)

    managed(ground.path)

    found = {record.operation: record for record in ground.host.operations(ground.root)}
    assert (found["op1"].event, found["op1"].original) == (JournalEvent.RENAMED, b"old")
    assert (found["op1"].quarantine_matches, found["op1"].manifest_intact) == (True, True)
    assert (found["op2"].event, found["op2"].in_purging) == (JournalEvent.PURGING, True)
    assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.DONE
    assert picture(ground.at("old")) == before
    assert ground.record().event is JournalEvent.RESTORED
    assert ground.host.put_back(ground.root, "op2", to=None, reason="") is PutBack.PURGING


def test_the_journal_grows_ahead_of_need(ground):
    with opened(ground) as folder:
        book = journal.Journal(folder)
        first = len(written(ground))
        for number in range(60):
            book.append(f"op{number}", "abandoned", {"reason": "x" * 4000})
            content = journal.parse(written(ground))
            assert content.size - content.end >= journal.GROWTH_BYTES // 2

    assert len(written(ground)) > first
    assert len(content.records) == 60


def test_a_copied_root_does_not_believe_the_journal_it_brought(ground, tmp_path):
    ground.set_aside("old")
    shutil.copytree(ground.path, os.fsencode(tmp_path / "copy"), symlinks=True)
    copy = described(os.fsencode(tmp_path / "copy"))

    with pytest.raises(HostFailure, match="its inode is"):
        ground.host.operations(copy)
    with pytest.raises(HostFailure, match="its inode is"):
        ground.host.put_back(copy, "op1", to=None, reason="")


def test_a_root_at_the_recorded_path_with_another_inode_is_refused(ground):
    os.rename(ground.path, ground.path + b".moved")
    shutil.copytree(ground.path + b".moved", ground.path, symlinks=True)

    with pytest.raises(HostFailure, match="copied, cloned or replaced"):
        ground.host.operations(ground.root)
    with pytest.raises(HostFailure, match="copied, cloned or replaced"):
        ground.host.lock(ground.root)


def test_a_copied_root_added_anew_keeps_the_old_journal_aside_and_finds_the_quarantine(ground, tmp_path):
    ground.set_aside("old")
    shutil.copytree(ground.path, os.fsencode(tmp_path / "copy"), symlinks=True)

    copy = managed(tmp_path / "copy", root_id="root-2")

    assert os.path.exists(copy.at(".artifactctl/journal.of-root-1"))
    record = copy.record()
    assert (record.event, record.in_quarantine, record.quarantine_matches) == (JournalEvent.RENAMED, True, False)
    assert copy.host.put_back(copy.root, "op1", to=None, reason="") is PutBack.REPLACED


def test_marking_a_root_again_changes_the_marker_and_keeps_the_journal(ground):
    ground.set_aside("old")
    marker = ground.host.read_marker(ground.path)

    renewed = Marker(
        root_id=marker.root_id,
        name="scratch",
        catalog_id="catalog-2",
        catalog_epoch=7,
        filesystem_uuid=marker.filesystem_uuid,
        inode=marker.inode,
    )
    ground.host.write_marker(ground.path, renewed)

    assert ground.host.read_marker(ground.path) == renewed
    assert ground.record().event is JournalEvent.RENAMED
