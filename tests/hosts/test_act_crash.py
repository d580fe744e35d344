"""SIGKILL at every numbered point: the journal tells the truth, and what was not being purged is whole somewhere."""

import re
import signal
from pathlib import Path

import pytest

from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.probe import points
from artifactctl.hosts.protocol import PutBack, SetAside

from .act_child import run_act
from .act_ground import managed, picture, plant

BEFORE = {
    "intend": lambda ground: None,
    "set-aside": lambda ground: ground.intend("old"),
    "put-back": lambda ground: (ground.set_aside("old"), ground.host.confirm(ground.root, "op1")),
    "begin-purge": lambda ground: (ground.set_aside("old"), ground.host.confirm(ground.root, "op1")),
    "purge": lambda ground: ground.condemn("old"),
}
STEPS = [
    (act, point)
    for act in BEFORE
    for point in points.POINTS
    if point.startswith(act + ":") or (point.startswith("journal:") and act != "journal")
]


@pytest.fixture
def ground(tmp_path):
    ground = managed(tmp_path)
    plant(ground.at("old"))
    return ground


@pytest.mark.parametrize(("act", "point"), STEPS, ids=[f"{act} at {point}" for act, point in STEPS])
def test_after_a_kill_everything_is_where_the_journal_says_and_can_be_completed(ground, act, point):
    before = picture(ground.at("old"))
    BEFORE[act](ground)

    died = run_act(ground.path, act, f"{point}=kill")

    assert died.returncode == -signal.SIGKILL, died.stderr
    found = {record.operation: record for record in ground.host.operations(ground.root)}
    if act == "intend" and "op1" not in found:
        assert picture(ground.at("old")) == before
        assert ground.set_aside("old") is SetAside.DONE  # the same name can be used again
        return
    record = found["op1"]
    assert record.manifest_intact or record.event in (JournalEvent.PURGED, JournalEvent.RESTORED)
    if act == "purge":
        recover_purge(ground, record)
    else:
        recover_whole(ground, record, before)


def recover_whole(ground, record, before):
    """The tree is whole in exactly one of its places, as recorded, and can be put back from there."""
    assert record.at_original != (record.in_quarantine or record.in_purging)
    assert record.original_matches or record.quarantine_matches
    if record.event in (JournalEvent.INTENDED, JournalEvent.RESTORED) and record.at_original:
        assert picture(ground.at("old")) == before
        return
    if record.in_purging:
        assert picture(ground.content()) == before
        assert ground.host.put_back(ground.root, "op1", to=None, reason="") is PutBack.PURGING
        ground.host.begin_purge(ground.root, "op1")
        assert ground.purge().complete
        return
    assert ground.host.put_back(ground.root, "op1", to=None, reason="recovery") is PutBack.DONE
    assert picture(ground.at("old")) == before
    assert ground.record().event is JournalEvent.RESTORED


def recover_purge(ground, record):
    if record.event is JournalEvent.PURGED:
        assert not any((record.in_purging, record.in_quarantine, record.at_original))
        return
    assert record.event is JournalEvent.PURGING
    assert record.in_purging
    assert ground.purge().complete
    assert ground.record().event is JournalEvent.PURGED


def test_a_rename_that_the_journal_missed_is_completed_by_a_second_call(ground):
    before = picture(ground.at("old"))
    ground.intend("old")
    run_act(ground.path, "set-aside", "set-aside:renamed=kill")
    record = ground.record()
    assert (record.event, record.in_quarantine, record.at_original) == (JournalEvent.INTENDED, True, False)

    assert ground.host.set_aside(ground.root, "op1") is SetAside.DONE

    assert ground.record().event is JournalEvent.RENAMED
    assert picture(ground.content()) == before


def test_every_point_stands_in_the_code_once():
    folder = Path(points.__file__).parent
    text = "".join(file.read_text() for file in folder.glob("*.py"))

    assert sorted(re.findall(r'reached\("([^"]+)"\)', text)) == sorted(points.POINTS)
