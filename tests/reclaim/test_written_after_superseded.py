"""What is written into an artifact after it was called superseded is not superseded, whatever mtimes it bears."""

from collections.abc import Callable

import pytest

from artifactctl.domain.artifacts import ArtifactKind, VerifyLevel
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.plans import ReclaimPlan
from tests.reclaim.ground import DAY, ROOT_PATH, Ground

SHARD = ROOT_PATH + b"/old/shard-0"


@pytest.fixture
def superseded(ground: Ground) -> Ground:
    """`old`, which nobody can build again, hashed and then superseded by `new`, which is verified."""
    for name in ("old", "new"):
        ground.artifact(name, kind=ArtifactKind.RESPONSE_SET)
    hash_all(ground, "old")
    ground.verify("new")
    ground.supersede("old", "new")
    ground.machine.clock.advance(DAY)
    return ground


def hash_all(ground: Ground, name: str, *, level: VerifyLevel = VerifyLevel.DIGESTS, ok: bool = True) -> None:
    """Let the catalog say that all of it was read just now and has the digests on record, or what else came of it."""
    replica = ground.replica(name)
    place = ManagedPath(root=ROOT_PATH, relative=replica.relative)
    seen = ground.machine.observe(ground.root, place, catalog_id=ground.catalog.lineage_id, catalog_epoch=1)
    assert seen.tree is not None
    with ground.catalog.writing("ada@node-1", ground.now()) as writing:
        writing.set_verified(replica.replica_id, level, seen.tree.fingerprint, ok=ok)


def synchronise(ground: Ground) -> None:
    """Write other bytes of the same number with the old mtime, as `rsync -t` does."""
    before = ground.machine.disk.find(SHARD).inode.modified_ns
    ground.machine.do.write(SHARD, b"y" * 5000)
    ground.machine.do.touch(SHARD, before)


def link(ground: Ground) -> None:
    """Give a member another name elsewhere."""
    ground.machine.do.link(SHARD, b"/elsewhere-shard")


def why_not(plan: ReclaimPlan) -> str:
    assert not plan.steps
    (evidence,) = [item for item in plan.refused[0].evidence if not item.permits_removal]
    assert evidence.guard == "recoverable"
    return evidence.reason


@pytest.mark.parametrize("touch", [synchronise, link])
def test_what_was_touched_later_is_not_superseded_though_its_mtimes_are_old(
    superseded: Ground, touch: Callable[[Ground], None]
) -> None:
    assert superseded.plan("old").steps
    touch(superseded)
    superseded.machine.clock.advance(DAY)

    reason = why_not(superseded.plan("old"))

    assert "touched at" in reason
    assert "`artifactctl verify old --level digests` tells" in reason
    assert "`artifactctl supersede old --by new`" in reason


def test_digests_of_before_say_that_only_a_link_was_made(superseded: Ground) -> None:
    link(superseded)
    superseded.machine.clock.advance(DAY)
    hash_all(superseded, "old")

    done = superseded.quarantine("old")

    assert [step.outcome for step in done.steps] == [StepOutcome.QUARANTINED]


def test_digests_that_were_taken_only_afterwards_say_nothing(ground: Ground) -> None:
    for name in ("old", "new"):
        ground.artifact(name, kind=ArtifactKind.RESPONSE_SET)
    ground.verify("new")
    ground.supersede("old", "new")
    ground.machine.clock.advance(DAY)
    synchronise(ground)
    ground.machine.clock.advance(DAY)
    hash_all(ground, "old")

    reason = why_not(ground.plan("old"))

    assert "--level digests" not in reason
    assert "`artifactctl supersede old --by new`" in reason


@pytest.mark.parametrize(
    ("level", "ok"), [(VerifyLevel.MEMBERS, True), (VerifyLevel.HEADERS, True), (VerifyLevel.DIGESTS, False)]
)
def test_a_verification_of_before_that_was_not_by_digests_or_failed_says_nothing(
    ground: Ground, level: VerifyLevel, ok: bool
) -> None:
    for name in ("old", "new"):
        ground.artifact(name, kind=ArtifactKind.RESPONSE_SET)
    hash_all(ground, "old", level=level, ok=ok)
    ground.verify("new")
    ground.supersede("old", "new")
    ground.machine.clock.advance(DAY)
    synchronise(ground)
    ground.machine.clock.advance(DAY)
    hash_all(ground, "old")

    assert "touched at" in why_not(ground.plan("old"))


def test_digests_of_members_that_were_replaced_since_say_nothing(superseded: Ground) -> None:
    synchronise(superseded)
    artifact = superseded.known("old")
    with superseded.catalog.writing("ada@node-1", superseded.now()) as writing:
        writing.set_members(artifact.artifact_id, [(b"shard-0", "f", 5000, None), (b"shard-1", "f", 5001, None)])
    superseded.machine.clock.advance(DAY)
    hash_all(superseded, "old")

    assert "touched at" in why_not(superseded.plan("old"))


def test_saying_so_again_covers_what_was_touched_until_then(superseded: Ground) -> None:
    synchronise(superseded)
    superseded.machine.clock.advance(DAY)
    superseded.supersede("old", "new")
    superseded.machine.clock.advance(DAY)

    assert superseded.plan("old").steps


def test_digests_that_differ_say_that_it_was_written_to_and_no_more_that_it_may_be_a_link(superseded: Ground) -> None:
    synchronise(superseded)
    superseded.machine.clock.advance(DAY)
    hash_all(superseded, "old", ok=False)

    reason = why_not(superseded.plan("old"))

    assert "`verify --level digests` of" in reason
    assert "it was written to after it was recorded as superseded by new" in reason
    assert "only a link" not in reason
    assert "`artifactctl supersede old --by new`" in reason


def test_a_failed_look_at_digests_of_something_else_since_says_nothing(superseded: Ground) -> None:
    hash_all(superseded, "old", ok=False)
    synchronise(superseded)
    superseded.machine.clock.advance(DAY)

    assert "touched at" in why_not(superseded.plan("old"))
