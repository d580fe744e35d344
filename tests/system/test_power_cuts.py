"""The power goes at a numbered point of an act: the journal never claims what the disk does not show.

What the kernel had not written is lost: on ext4 and xfs by their shutdown, which drops it; on btrfs by going on with a
copy of its image.
"""

import os
import signal

import pytest

from tests.bench.volumes import FilesystemKind, crash_copy, cut_power, revived
from tests.hosts.act_child import run_act
from tests.hosts.act_ground import managed, picture, plant
from tests.hosts.act_recovery import BEFORE, STEPS, recover

pytestmark = pytest.mark.system

IDS = [f"{act} at {point}" for act, point in STEPS]


@pytest.mark.parametrize("kind", [FilesystemKind.EXT4, FilesystemKind.XFS], ids=str)
@pytest.mark.parametrize(("act", "point"), STEPS, ids=IDS)
def test_after_a_power_cut_everything_is_where_the_journal_says(volumes, kind, act, point):
    volume = volumes(kind)
    ground = managed(volume.mount)
    before = dead_at(ground, act, point)

    cut_power(volume)
    volume.remount()

    recover(ground, act, before)


@pytest.mark.parametrize(("act", "point"), STEPS, ids=IDS)
def test_so_it_is_in_a_copy_of_btrfs(btrfs_volume, tmp_path, act, point):
    ground = managed(btrfs_volume.mount)
    before = dead_at(ground, act, point)
    copy = crash_copy(btrfs_volume, tmp_path / "crash.image")

    with revived(btrfs_volume, copy):
        recover(ground, act, before)


def dead_at(ground, act, point):
    """Bring the act to the point and end it there; what it has not flushed is still in memory only."""
    plant(ground.at("old"))
    os.sync()
    before = picture(ground.at("old"))
    BEFORE[act](ground)
    died = run_act(ground.path, act, f"{point}=kill")
    assert died.returncode == -signal.SIGKILL, died.stderr
    return before
