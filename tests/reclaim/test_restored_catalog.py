"""A backup takes the catalog's place: what happened since is found, nothing is forgotten, nothing goes unconfirmed."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from artifactctl import audit
from artifactctl.catalog import open_catalog
from artifactctl.domain.accounts import Account
from artifactctl.domain.artifacts import ArtifactKind, ReplicaState
from artifactctl.domain.backups import CatalogRestore
from artifactctl.domain.errors import HostFailure, Refused
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.verdicts import Verdict
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.catalog_backup import back_up
from artifactctl.inventory.catalog_restore import put_in_force, unpacked
from artifactctl.inventory.doorkeeping import Doorkeeper
from artifactctl.inventory.holding import NotMirrored, add_hold, release_holds
from artifactctl.inventory.mirrored_holds import read_holds
from artifactctl.inventory.standing import NotInCharge
from artifactctl.reclaim import examining
from artifactctl.reclaim.confirming import awaiting, confirm
from tests.reclaim.ground import ROOT_PATH, Ground

ADA = Account(login="ada", host="node-1", user_id=1000)


def acting(ground: Ground) -> Acting:
    return Acting(actor="ada@node-1", host="node-1", now=ground.now())


@pytest.fixture
def backup(ground: Ground) -> Path:
    """The state of the ground now, in one file beside the catalog."""
    file = ground.folder / "backup.db"
    back_up(ground.catalog, os.fsencode(file), acting=acting(ground))
    ground.machine.clock.advance(timedelta(hours=1))
    return file


def restore(ground: Ground, file: Path) -> CatalogRestore:
    ground.catalog.close()
    try:
        present, doorkeeper = str(ground.folder / "catalog.db"), Doorkeeper(lambda: ADA)
        with unpacked(os.fsencode(file), present, acting=acting(ground), doorkeeper=doorkeeper) as found:
            return put_in_force(ground.machine, found, reason="the disk died", acting=acting(ground))
    finally:
        ground.catalog = open_catalog(ground.folder / "catalog.db", now=ground.now())


def confirmed(ground: Ground) -> tuple[str, ...]:
    waiting = awaiting(ground.workplace)
    assert waiting is not None
    return confirm(ground.workplace, waiting)


def epoch_on_disk(ground: Ground) -> int:
    marker = ground.machine.read_marker(ROOT_PATH)
    assert marker is not None
    return marker.catalog_epoch


def verdicts(ground: Ground, name: str) -> dict[str, tuple[Verdict, str]]:
    plan = ground.plan(name)
    shown = plan.refused[0] if plan.refused else plan.steps[0]
    return {item.guard: (item.verdict, item.reason) for item in shown.evidence}


def test_a_restored_catalog_is_above_every_known_epoch_and_unconfirmed(ground: Ground, backup: Path) -> None:
    first = restore(ground, backup)
    confirmed(ground)
    second = restore(ground, backup)

    assert (first.epoch, second.epoch) == (2, 3)
    assert epoch_on_disk(ground) == 2
    with ground.catalog.reading() as reading:
        assert reading.identity().lineage_confirmed_at is None
        assert audit.verify(reading.connection).ok


def test_nothing_may_go_before_a_person_confirmed_and_the_reasons_say_so(ground: Ground, backup: Path) -> None:
    restore(ground, backup)

    found = verdicts(ground, "hidden-old")

    assert found["confined"][0] is Verdict.BLOCKED
    assert "epoch" in found["confined"][1]
    assert found["no_live_descendant"][0] is Verdict.UNKNOWN
    assert found["recoverable"][0] is Verdict.BLOCKED


def test_a_confirmed_catalog_works_again(ground: Ground, backup: Path) -> None:
    restore(ground, backup)
    confirmed(ground)

    result = ground.quarantine("hidden-old")

    assert [step.outcome for step in result.steps] == [StepOutcome.QUARANTINED]
    assert epoch_on_disk(ground) == 2
    assert awaiting(ground.workplace) is None
    assert examining.examine(ground.workplace) == ()


def test_what_was_set_aside_after_the_backup_can_be_restored_and_is_never_purged(ground: Ground, backup: Path) -> None:
    before = ground.tree("hidden-old")
    ground.quarantine("hidden-old")
    restore(ground, backup)
    assert ground.state("hidden-old") is ReplicaState.LIVE

    said = confirmed(ground)
    purge = ground.purge()
    back = ground.restore()

    assert any(sentence.startswith("hidden-old: taken in") for sentence in said)
    assert [step.outcome for step in purge.steps] == [StepOutcome.REFUSED]
    assert [step.outcome for step in back.steps] == [StepOutcome.RESTORED]
    assert ground.tree("hidden-old") == before


def test_what_was_purged_after_the_backup_is_a_tombstone_that_names_its_operation(ground: Ground, backup: Path) -> None:
    operation = ground.quarantine("hidden-old").steps[0].operation
    ground.purge()
    restore(ground, backup)

    said = confirmed(ground)

    assert ground.state("hidden-old") is ReplicaState.GONE
    assert f"hidden-old: was purged by operation {operation}" in said


def test_a_path_that_was_used_again_after_a_purge_is_not_called_gone(ground: Ground, backup: Path) -> None:
    ground.quarantine("hidden-old")
    ground.purge()
    ground.machine.do.mkdir(ROOT_PATH + b"/hidden-old")
    ground.machine.do.write(ROOT_PATH + b"/hidden-old/new", b"x")
    restore(ground, backup)

    confirmed(ground)

    assert ground.state("hidden-old") is ReplicaState.LIVE


def test_a_hold_placed_after_the_backup_is_placed_again_for_the_same_person(ground: Ground, backup: Path) -> None:
    add_hold(
        ground.catalog,
        ground.machine,
        ground.known("hidden-old"),
        reason="for the paper",
        until=None,
        acting=Acting(actor="eve@node-1", host="node-1", now=ground.now()),
    )
    placed_at = ground.now()
    restore(ground, backup)
    ground.machine.clock.advance(timedelta(days=1))

    confirmed(ground)

    with ground.catalog.reading() as reading:
        (hold,) = reading.holds()
    assert (hold.artifact_name, hold.reason, hold.actor, hold.placed_at) == (
        "hidden-old",
        "for the paper",
        "eve@node-1",
        placed_at,
    )
    assert verdicts(ground, "hidden-old")["no_hold"][0] is Verdict.BLOCKED
    assert [told.reason for told in read_holds(ground.machine, ground.root)] == ["for the paper"]


def test_a_hold_placed_in_the_unconfirmed_catalog_does_not_overwrite_those_of_the_root(
    ground: Ground, backup: Path
) -> None:
    held, other = ground.known("hidden-old"), ground.known("corpus")
    add_hold(ground.catalog, ground.machine, held, reason="for the paper", until=None, acting=acting(ground))
    restore(ground, backup)

    with pytest.raises(NotMirrored, match="nobody has confirmed it"):
        add_hold(ground.catalog, ground.machine, other, reason="for review", until=None, acting=acting(ground))
    confirmed(ground)

    with ground.catalog.reading() as reading:
        assert {hold.reason for hold in reading.holds()} == {"for the paper", "for review"}
    assert {told.reason for told in read_holds(ground.machine, ground.root)} == {"for the paper", "for review"}


def test_a_hold_on_something_registered_after_the_backup_is_not_lost(ground: Ground, backup: Path) -> None:
    ground.artifact("hidden-new", shards=2)
    add_hold(
        ground.catalog, ground.machine, ground.known("hidden-new"), reason="new", until=None, acting=acting(ground)
    )
    restore(ground, backup)

    confirmed(ground)

    with ground.catalog.reading() as reading:
        (hold,) = reading.holds()
    assert hold.artifact_name == "hidden-new"
    assert ground.known("hidden-new").replicas[0].files == 2
    assert verdicts(ground, "hidden-new")["no_hold"][0] is Verdict.BLOCKED


def test_a_hold_on_what_was_set_aside_after_the_backup_holds_in_quarantine(ground: Ground, backup: Path) -> None:
    ground.quarantine("hidden-old")
    add_hold(
        ground.catalog, ground.machine, ground.known("hidden-old"), reason="wait", until=None, acting=acting(ground)
    )
    restore(ground, backup)

    confirmed(ground)

    with ground.catalog.reading() as reading:
        assert [hold.artifact_name for hold in reading.holds()] == ["hidden-old"]


def test_a_hold_that_was_released_after_the_backup_holds_again(ground: Ground) -> None:
    add_hold(
        ground.catalog, ground.machine, ground.known("hidden-old"), reason="wait", until=None, acting=acting(ground)
    )
    file = ground.folder / "backup.db"
    back_up(ground.catalog, os.fsencode(file), acting=acting(ground))
    release_holds(ground.catalog, ground.machine, ground.known("hidden-old"), reason="done", acting=acting(ground))
    restore(ground, file)

    confirmed(ground)

    with ground.catalog.reading() as reading:
        assert [hold.reason for hold in reading.holds()] == ["wait"]


def test_confirming_twice_places_nothing_twice(ground: Ground, backup: Path) -> None:
    add_hold(
        ground.catalog, ground.machine, ground.known("hidden-old"), reason="wait", until=None, acting=acting(ground)
    )
    restore(ground, backup)
    waiting = awaiting(ground.workplace)
    assert waiting is not None

    confirm(ground.workplace, waiting)
    confirm(ground.workplace, waiting)

    with ground.catalog.reading() as reading:
        assert len(reading.holds()) == 1


def test_damaged_holds_in_the_root_stop_the_confirmation(ground: Ground, backup: Path) -> None:
    ground.machine.mirror(ROOT_PATH, "holds", b"not JSON")
    restore(ground, backup)

    with pytest.raises(HostFailure, match="what they kept is not known"):
        confirmed(ground)

    assert epoch_on_disk(ground) == 1


def test_the_replaced_catalog_is_kept_and_is_read_only_once_the_restored_one_is_confirmed(
    ground: Ground, backup: Path
) -> None:
    ground.quarantine("hidden-old")
    done = restore(ground, backup)
    confirmed(ground)
    assert done.kept_at is not None

    ground.catalog.close()
    ground.catalog = open_catalog(os.fsdecode(done.kept_at), now=ground.now())
    plan = ground.plan("corpus")

    assert ground.state("hidden-old") is ReplicaState.QUARANTINED
    assert "confined" in {item.guard for item in plan.refused[0].blocking}
    with pytest.raises(NotInCharge, match="epoch 2 of this catalog is in charge"):
        ground.restore()
    assert [found.remedy for found in examining.examine(ground.workplace) if found.object == "root data"] == [
        "use the newer catalog (--catalog); this one stays as it is"
    ]


def test_an_unconfirmed_catalog_puts_nothing_back_either(ground: Ground) -> None:
    ground.quarantine("hidden-old")
    file = ground.folder / "backup.db"
    back_up(ground.catalog, os.fsencode(file), acting=acting(ground))
    restore(ground, file)

    with pytest.raises(Refused, match="nobody has confirmed it"):
        ground.restore()

    confirmed(ground)
    assert [step.outcome for step in ground.restore().steps] == [StepOutcome.RESTORED]


def test_a_root_that_was_not_reachable_stays_read_only_until_it_is_confirmed_too(ground: Ground, backup: Path) -> None:
    marker = ground.machine.read_marker(ROOT_PATH)
    assert marker is not None
    ground.machine.do.rename(ROOT_PATH, b"/unmounted")
    ground.machine.do.mkdir(ROOT_PATH)
    done = restore(ground, backup)
    confirmed(ground)
    ground.machine.do.rmdir(ROOT_PATH)
    ground.machine.do.rename(b"/unmounted", ROOT_PATH)

    blocked = {item.guard for item in ground.plan("hidden-old").refused[0].blocking}
    findings = [found for found in examining.examine(ground.workplace) if found.object == "root data"]
    confirmed(ground)

    assert done.unreachable_roots == ("data",)
    assert blocked == {"confined"}
    assert [found.repairable for found in findings] == [True]
    assert ground.plan("hidden-old").refused == ()


def test_two_restored_copies_of_one_backup_never_share_an_epoch(ground: Ground, backup: Path) -> None:
    away = b"/unmounted"
    ground.machine.do.rename(ROOT_PATH, away)
    restore(ground, backup)
    twin = ground.folder / "twin"
    twin.mkdir()
    present, doorkeeper = str(twin / "catalog.db"), Doorkeeper(lambda: ADA)
    with unpacked(os.fsencode(backup), present, acting=acting(ground), doorkeeper=doorkeeper) as found:
        other = put_in_force(ground.machine, found, reason="", acting=acting(ground))
    ground.machine.do.rename(away, ROOT_PATH)
    confirmed(ground)
    first = ground.catalog.epoch
    ground.catalog.close()

    ground.catalog = open_catalog(twin / "catalog.db", now=ground.now())
    confirmed(ground)

    assert (first, other.epoch) == (2, 2)
    assert ground.catalog.epoch == epoch_on_disk(ground) == 3


def test_doctor_names_what_waits(ground: Ground, backup: Path) -> None:
    restore(ground, backup)

    found = examining.examine(ground.workplace)

    assert [(item.object, item.repairable) for item in found] == [("catalog", True), ("root data", True)]
    assert examining.repair(ground.workplace) == ()
    assert epoch_on_disk(ground) == 1


@pytest.fixture
def crowded(ground: Ground, backup: Path) -> Ground:
    """A ground on which one thing was set aside and one held since the backup."""
    ground.artifact("hidden-new", kind=ArtifactKind.HIDDEN_STATES)
    ground.quarantine("hidden-old")
    add_hold(
        ground.catalog, ground.machine, ground.known("hidden-new"), reason="new", until=None, acting=acting(ground)
    )
    restore(ground, backup)
    return ground


@pytest.mark.parametrize("primitive", ["write", "fsync"])
def test_a_confirmation_that_fails_half_way_is_finished_by_the_next_one(crowded: Ground, primitive: str) -> None:
    crowded.machine.fail(primitive, 5)
    with pytest.raises((HostFailure, NotMirrored)):
        confirmed(crowded)
    crowded.reopen()

    with crowded.catalog.reading() as reading:
        assert not reading.identity().is_confirmed
    confirmed(crowded)

    with crowded.catalog.reading() as reading:
        assert reading.identity().is_confirmed
        assert [hold.reason for hold in reading.holds()] == ["new"]
        assert audit.verify(reading.connection).ok
    assert crowded.state("hidden-old") is ReplicaState.QUARANTINED
    assert [told.reason for told in read_holds(crowded.machine, crowded.root)] == ["new"]
