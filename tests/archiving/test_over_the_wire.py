"""A copy on another machine: written, read back and hashed there, by an agent at the far end of a channel."""

import os
from dataclasses import replace

import pytest

from artifactctl.archiving.archive import archive_to_root
from artifactctl.archiving.unfinished import repair_copies
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.errors import ArtifactctlError
from artifactctl.hosts.remote import RemoteHost
from artifactctl.inventory.targets import Target
from tests.archiving.ground import Ground, picture
from tests.contract.remote_workshop import agent_here


def work_between(ground: Ground, there: RemoteHost) -> ArchivingWork:
    """Return work whose root `far` is asked through the agent."""
    local = ground.host
    return replace(ground.work(), host_of=lambda root: there if root.root_id == ground.far.root_id else local)


def archive(ground: Ground, there: RemoteHost):
    place = Target(root=ground.far, relative=b"hidden")
    return archive_to_root(work_between(ground, there), ground.known(), ground.replica(ground.near), place)


def test_a_copy_on_another_machine_is_the_same_and_was_hashed_there(ground: Ground) -> None:
    with agent_here({}) as there:
        made = archive(ground, there)

    assert made.is_verified
    assert picture(ground.at(ground.far)) == picture(ground.at(ground.near))
    assert ground.replica(ground.far).state is ReplicaState.LIVE


@pytest.mark.parametrize("point", ["copy:noted", "copy:files-synced", "copy:completed"])
def test_an_agent_that_dies_leaves_nothing_live_and_the_next_one_goes_on(ground: Ground, point: str) -> None:
    with agent_here({"ARTIFACTCTL_POINT": f"{point}=kill"}) as dying, pytest.raises(ArtifactctlError):
        archive(ground, dying)
    assert not os.path.exists(ground.at(ground.far))

    with agent_here({}) as there:
        if point == "copy:noted":  # the catalog was never told: repair takes the folder away
            repair_copies(work_between(ground, there), ground.far)
        assert archive(ground, there).is_verified

    assert picture(ground.at(ground.far)) == picture(ground.at(ground.near))
    assert ground.aside(ground.far) == []
