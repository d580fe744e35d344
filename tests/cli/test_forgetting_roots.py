"""`root forget`: it tells what has its last copy there, and `--yes` alone gives up nothing that a removal relied on."""

import json
from itertools import pairwise

from artifactctl.domain.artifacts import ReplicaState
from tests.cli.stock import Shop

_TO_GONE = (
    ReplicaState.LIVE,
    ReplicaState.QUARANTINING,
    ReplicaState.QUARANTINED,
    ReplicaState.PURGING,
    ReplicaState.GONE,
)


def remove(shop: Shop, name: str) -> None:
    """Let the catalog say that the artifact was purged."""
    catalog = shop.open()
    try:
        with catalog.writing("arranger@test", shop.clock.now()) as writing:
            artifact = writing.artifact(name)
            assert artifact is not None
            for before, after in pairwise(_TO_GONE):
                writing.change_state(artifact.replicas[0].replica_id, expected={before}, to=after)
    finally:
        catalog.close()


def test_what_has_its_last_verified_copy_there_is_told_with_its_bytes(stocked: Shop) -> None:
    done = stocked.run("root", "forget", "scratch", "--yes", "--json")

    assert done.exit_code == 0, done.stderr
    assert "outside of `scratch` no verified copy of 3 artifacts is known, 6.00 MiB: scratch/checkpoint" in done.stderr
    told = json.loads(done.stdout)["last_copies"]
    assert {"name": "scratch/hs-new", "allocated_bytes": 2 * 2**20} in told


def test_yes_alone_does_not_give_up_a_copy_that_a_removal_relied_on(stocked: Shop) -> None:
    remove(stocked, "scratch/hs-old")

    refused = stocked.run("root", "forget", "scratch", "--yes")
    still_there = stocked.run("root", "ls")
    given_up = stocked.run("root", "forget", "scratch", "--yes", "--last-copies")

    assert refused.exit_code == 2
    assert "scratch/hs-old, which was removed, is built from it" in refused.stderr
    assert "--last-copies" in refused.stderr
    assert "scratch" in still_there.stdout
    assert given_up.exit_code == 0, given_up.stderr
