"""An older file copied over the catalog looks like the catalog: the roots tell, and what they keep is not lost."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from artifactctl.capacity.selection import ReclaimCandidate
from artifactctl.catalog import open_catalog
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.verdicts import Verdict
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.candidates import trust_here
from artifactctl.inventory.catalog_heads import HEAD_TOPIC, head_seen_by, note_heads, roots_ahead
from artifactctl.inventory.giving_up import reclaim_candidates
from artifactctl.inventory.holding import RootUnwritable, add_hold, release_holds
from artifactctl.inventory.mirrored_holds import read_holds
from artifactctl.reclaim import examining
from artifactctl.reclaim.confirming import awaiting, confirm
from tests.reclaim.ground import ROOT_PATH, Ground


def acting(ground: Ground) -> Acting:
    return Acting(actor="ada@node-1", host="node-1", now=ground.now())


def hold(ground: Ground, name: str, reason: str) -> None:
    add_hold(ground.catalog, ground.machine, ground.known(name), reason=reason, until=None, acting=acting(ground))
    note_heads(ground.catalog, ground.machine)
    ground.machine.clock.advance(timedelta(minutes=1))


def files_of_catalog(ground: Ground) -> list[Path]:
    return [file for file in ground.folder.glob("catalog.db*") if file.is_file()]


def keep_copy(ground: Ground) -> None:
    ground.catalog.close()
    (ground.folder / "older").mkdir()
    for file in files_of_catalog(ground):
        shutil.copy(file, ground.folder / "older")
    ground.catalog = open_catalog(ground.folder / "catalog.db", now=ground.now())


def put_older_copy(ground: Ground) -> None:
    ground.catalog.close()
    for file in files_of_catalog(ground):
        file.unlink()
    for file in (ground.folder / "older").iterdir():
        shutil.copy(file, ground.folder)
    ground.catalog = open_catalog(ground.folder / "catalog.db", now=ground.now())


@pytest.fixture
def older(ground: Ground) -> Ground:
    """A ground whose catalog was copied, went on by a hold on the corpus, and was replaced by the copy."""
    hold(ground, "corpus", "before the copy")
    keep_copy(ground)
    hold(ground, "corpus", "after the copy")
    put_older_copy(ground)
    return ground


def reasons_in_root(ground: Ground) -> list[str]:
    return sorted(told.reason for told in read_holds(ground.machine, ground.root))


def confirmed(ground: Ground) -> tuple[str, ...]:
    waiting = awaiting(ground.workplace)
    assert waiting is not None
    return confirm(ground.workplace, waiting)


def offers(ground: Ground) -> tuple[ReclaimCandidate, ...]:
    with ground.catalog.reading() as reading:
        trust = trust_here(ground.machine, reading, now=ground.now())
        return reclaim_candidates(reading, reading.roots(), policy=ground.policy, trust=trust, now=ground.now())


def test_the_newest_catalog_is_not_taken_for_an_older_one(ground: Ground) -> None:
    hold(ground, "corpus", "wait")

    with ground.catalog.reading() as reading:
        assert roots_ahead(ground.machine, reading) == ()
    assert awaiting(ground.workplace) is None
    assert ground.plan("hidden-old").refused == ()


def test_in_an_older_copy_the_lineage_is_not_known(older: Ground) -> None:
    (refused,) = older.plan("hidden-old").refused

    verdicts = {item.guard: item.verdict for item in refused.evidence}
    assert verdicts["no_live_descendant"] is Verdict.UNKNOWN
    assert verdicts["recoverable"] is Verdict.BLOCKED
    assert offers(older) == ()


def test_what_an_older_copy_does_after_that_does_not_hide_it(older: Ground) -> None:
    for number in range(5):
        hold(older, "hidden-old", f"number {number}")
    note_heads(older.catalog, older.machine)

    with older.catalog.reading() as reading:
        assert len(roots_ahead(older.machine, reading)) == 1


def test_an_older_copy_drops_no_hold_that_it_does_not_know(older: Ground) -> None:
    hold(older, "hidden-old", "another")
    release_holds(older.catalog, older.machine, older.known("hidden-old"), reason="done", acting=acting(older))

    assert reasons_in_root(older) == ["after the copy", "before the copy"]


def test_a_released_hold_does_not_stay_in_the_root(ground: Ground) -> None:
    hold(ground, "corpus", "wait")
    release_holds(ground.catalog, ground.machine, ground.known("corpus"), reason="done", acting=acting(ground))

    assert reasons_in_root(ground) == []


def test_a_damaged_list_of_holds_is_not_written_over(ground: Ground) -> None:
    ground.machine.mirror(ROOT_PATH, "holds", b"not JSON")

    with pytest.raises(RootUnwritable, match="what they kept is not known"):
        hold(ground, "corpus", "wait")

    assert ground.machine.read_mirror(ROOT_PATH, "holds") == b"not JSON"


def test_doctor_says_that_it_is_an_older_copy_and_which_holds_it_lacks(older: Ground) -> None:
    found = {item.object: item for item in examining.examine(older.workplace)}

    assert "older copy of itself" in found["catalog"].what
    assert "after the copy" in found["corpus"].what
    assert found["corpus"].repairable


def test_a_hold_is_placed_again_at_the_same_epoch(older: Ground) -> None:
    older.machine.mirror(ROOT_PATH, HEAD_TOPIC, b"{}")  # whatever the head says

    said = examining.repair(older.workplace)

    assert said == ("corpus: held again for ada@node-1: after the copy",)
    with older.catalog.reading() as reading:
        assert [item.reason for item in reading.holds()] == ["before the copy", "after the copy"]
    assert examining.repair(older.workplace) == ()


def test_a_confirmed_older_copy_is_an_epoch_of_its_own(older: Ground) -> None:
    confirmed(older)

    assert older.catalog.epoch == 2
    assert awaiting(older.workplace) is None
    assert examining.examine(older.workplace) == ()
    assert reasons_in_root(older) == ["after the copy", "before the copy"]
    assert [step.outcome for step in older.quarantine("hidden-old").steps] == [StepOutcome.QUARANTINED]


def test_what_a_newer_catalog_set_aside_is_taken_in_and_never_purged(ground: Ground) -> None:
    keep_copy(ground)
    ground.quarantine("hidden-old")
    hold(ground, "hidden-old", "wait")
    put_older_copy(ground)

    confirmed(ground)

    assert ground.state("hidden-old") is ReplicaState.QUARANTINED
    assert [step.outcome for step in ground.purge().steps] == [StepOutcome.REFUSED]


@pytest.mark.parametrize("content", [b"not JSON", b"[]", b'{"catalog_id": "", "epoch": 1, "event": -1, "hash": ""}'])
def test_a_head_that_cannot_be_read_counts_as_an_older_copy(ground: Ground, content: bytes) -> None:
    hold(ground, "corpus", "wait")
    ground.machine.mirror(ROOT_PATH, HEAD_TOPIC, content)

    refused = ground.plan("hidden-old").refused
    confirmed(ground)

    assert len(refused) == 1
    assert ground.plan("hidden-old").refused == ()


def test_the_head_follows_the_catalog(ground: Ground, tmp_path: Path) -> None:
    hold(ground, "corpus", "wait")
    first = head_seen_by(ground.machine, ground.root)
    hold(ground, "corpus", "wait longer")
    second = head_seen_by(ground.machine, ground.root)

    assert first is not None
    assert second is not None
    assert second.event > first.event
