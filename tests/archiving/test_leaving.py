"""What counts as being elsewhere when a machine goes away."""

from dataclasses import replace
from datetime import timedelta

import pytest

from artifactctl.archiving.leaving import destinations, leaving_plan
from tests.archiving.ground import NOON, Ground


@pytest.mark.parametrize(
    ("same_id", "own_key", "is_elsewhere"),
    [(True, "", False), (True, "ssh-ed25519 AAAA1", True), (False, "", True)],
    ids=["perhaps the same machine, known twice", "a copied image: its key differs", "another machine"],
)
def test_a_copy_on_what_may_be_the_same_machine_is_no_copy_elsewhere(
    ground: Ground, same_id: bool, own_key: str, is_elsewhere: bool
) -> None:
    ground.archive()
    with ground.catalog.writing("ada", NOON) as writing:
        (here,) = writing.hosts()
        machine_id = here.machine_id if same_id else "other"
        over_ssh = writing.add_host("gpu", machine_id=machine_id, address="ssh://gpu", host_key="ssh-ed25519 AAAA2")
        if own_key:
            here = writing.give_address(here.host_id, address="ssh://here", host_key=own_key, uses_sudo=False)
        writing.update_root(replace(ground.far, host_id=over_ssh.host_id))
        plan = leaving_plan(writing, here, by=NOON + timedelta(hours=1), given_bytes_a_second=None, now=NOON)
        places = destinations(writing, here)

    left = [item.belonging.name for item in plan.left_behind]
    assert left == (["hidden"] if is_elsewhere else [])
    assert bool(places) is is_elsewhere
