"""SIGKILL at every numbered point of a copy: nothing is live that is not whole, and the rest is brought to an end."""

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from artifactctl.archiving.failures import PlaceTaken
from artifactctl.archiving.unfinished import copy_findings, repair_copies
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.hosts.probe import points
from tests.archiving.archive_child import run_archive
from tests.archiving.ground import NOON, Ground, picture

STEPS = [point for point in points.POINTS if point.startswith("copy:")]
IN_PLACE = ("copy:placed", "copy:place-synced", "copy:over")


def killed(ground: Ground, folder: Path, point: str) -> None:
    before = picture(ground.at(ground.near))
    died = run_archive(folder, f"{point}=kill")
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert picture(ground.at(ground.near)) == before


def states_at_the_far_side(ground: Ground) -> list[ReplicaState]:
    return [r.state for r in ground.known().replicas if r.root.root_id == ground.far.root_id]


def no_half_copy_is_live(ground: Ground) -> None:
    live = ReplicaState.LIVE in states_at_the_far_side(ground)
    if os.path.exists(ground.at(ground.far)):
        assert picture(ground.at(ground.far)) == picture(ground.at(ground.near))
    else:
        assert not live


@pytest.mark.parametrize("point", STEPS)
def test_after_a_kill_doctor_explains_it_and_repair_ends_it(ground: Ground, tmp_path: Path, point: str) -> None:
    killed(ground, tmp_path, point)
    no_half_copy_is_live(ground)
    assert os.path.exists(ground.at(ground.far)) == (point in IN_PLACE)
    findings = tuple(copy_findings(ground.work(), ground.far))
    assert (point == "copy:begun") == (not findings)
    assert all(finding.repairable and finding.remedy for finding in findings)

    repair_copies(ground.work(), ground.far)

    assert tuple(copy_findings(ground.work(), ground.far)) == ()
    assert ground.aside(ground.far) == []
    no_half_copy_is_live(ground)
    is_there = os.path.exists(ground.at(ground.far))
    assert is_there == (point in (*IN_PLACE, "copy:completed"))
    assert states_at_the_far_side(ground) in ([], [ReplicaState.LIVE if is_there else ReplicaState.GONE])


@pytest.mark.parametrize("point", ["copy:folder-made", "copy:piece-written", "copy:files-recorded", "copy:completed"])
def test_after_a_kill_the_same_command_makes_the_copy(ground: Ground, tmp_path: Path, point: str) -> None:
    killed(ground, tmp_path, point)

    made = ground.archive()

    assert made.is_verified
    assert (made.sent_bytes == 0) == (point in ("copy:files-recorded", "copy:completed"))
    assert picture(ground.at(ground.far)) == picture(ground.at(ground.near))
    assert states_at_the_far_side(ground)[-1] is ReplicaState.LIVE


def test_a_copy_that_was_in_its_place_before_the_repair_is_not_called_verified(ground: Ground, tmp_path: Path) -> None:
    killed(ground, tmp_path, "copy:placed")
    with pytest.raises(PlaceTaken) as refused:
        ground.archive()
    assert "doctor --repair" in refused.value.remedy

    (said,) = repair_copies(ground.work(), ground.far)

    assert "verify hidden" in said
    assert ground.replica(ground.far).verified_level is None


def test_the_lease_of_a_killed_copy_ends_by_itself(ground: Ground, tmp_path: Path) -> None:
    killed(ground, tmp_path, "copy:piece-written")

    with ground.catalog.reading() as reading:
        assert len(reading.leases(NOON)) == 1
        assert reading.leases(NOON + timedelta(hours=1)) == ()


def test_what_somebody_else_put_beside_a_copy_is_left_and_named(ground: Ground, tmp_path: Path) -> None:
    killed(ground, tmp_path, "copy:files-recorded")
    (folder,) = ground.aside(ground.far)
    stranger = ground.at(ground.far, b".artifactctl/archiving/" + folder.encode() + b"/content/rows/mine")
    with open(stranger, "wb") as file:
        file.write(b"not yours")

    with pytest.raises(Exception, match="content/rows/mine"):
        repair_copies(ground.work(), ground.far)

    left = [os.path.join(here, name) for here, _, names in os.walk(os.fsdecode(ground.far.path)) for name in names]
    assert [path for path in left if path.endswith("mine")]
    assert states_at_the_far_side(ground) == [ReplicaState.ARCHIVING]
