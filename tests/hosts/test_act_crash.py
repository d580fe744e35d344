"""SIGKILL at every numbered point: the journal tells the truth, and what was not being purged is whole somewhere."""

import re
import signal
from pathlib import Path

import pytest

from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.probe import points
from artifactctl.hosts.protocol import SetAside

from .act_child import run_act
from .act_ground import managed, picture, plant
from .act_recovery import BEFORE, STEPS, recover


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
    recover(ground, act, before)


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
