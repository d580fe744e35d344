"""The recovery table: every combination of last event and place has exactly one action, and none deletes too much."""

from itertools import product

import pytest

from artifactctl.domain.identity import FileIdentity
from artifactctl.domain.operations import JournalEvent, OperationRecord
from artifactctl.reclaim.recovery import Action, decide
from tests.builders import FINGERPRINT, NOON

E = JournalEvent


def found(
    event: JournalEvent, *, home: bool = False, aside: bool = False, purging: bool = False, strange: bool = False
) -> OperationRecord:
    return OperationRecord(
        operation="op-1",
        event=event,
        at=NOON,
        original=b"hidden-old",
        placed=b".artifactctl/quarantine/op-1/content",
        identity=FileIdentity(filesystem_uuid="fs-1", inode=100, birth_ns=5),
        fingerprint=FINGERPRINT,
        name="data/hidden-old",
        allocated_bytes=8192,
        catalog_id="catalog-1",
        at_original=home,
        original_matches=True if home else None,
        in_quarantine=aside,
        quarantine_matches=not strange if aside else None,
        in_purging=purging,
        manifest_intact=True,
    )


@pytest.mark.parametrize(
    ("record", "action"),
    [
        (found(E.INTENDED, home=True), Action.ABANDON),
        (found(E.INTENDED, aside=True), Action.SECOND_LOOK),
        (found(E.INTENDED), Action.GIVE_UP_LOST),
        (found(E.RENAMED, aside=True), Action.SECOND_LOOK),
        (found(E.RENAMED, home=True), Action.ABANDON),
        (found(E.QUARANTINED, aside=True), Action.NOTHING),
        (found(E.QUARANTINED), Action.GIVE_UP_LOST),
        (found(E.QUARANTINED, aside=True, strange=True), Action.REPORT_FOREIGN),
        (found(E.KEPT), Action.GIVE_UP_LOST),
        (found(E.LOST), Action.NOTHING),
        (found(E.LOST, home=True), Action.NOTHING),
        (found(E.LOST, aside=True), Action.REPORT_FOREIGN),
        (found(E.KEPT, aside=True), Action.NOTHING),
        (found(E.RESTORE_INTENDED, aside=True), Action.FINISH_RESTORE),
        (found(E.RESTORE_INTENDED, home=True), Action.RECORD_RESTORED),
        (found(E.RESTORED, home=True), Action.NOTHING),
        (found(E.PURGE_INTENDED, aside=True), Action.BACK_TO_QUARANTINE),
        (found(E.PURGE_INTENDED, purging=True), Action.COMPLETE_PURGE),
        (found(E.PURGING, purging=True), Action.COMPLETE_PURGE),
        (found(E.PURGING), Action.GIVE_UP_LOST),
        (found(E.PURGED), Action.NOTHING),
        (found(E.PURGED, purging=True), Action.COMPLETE_PURGE),
        (found(E.ABANDONED, home=True), Action.NOTHING),
    ],
    ids=lambda value: value.value if isinstance(value, Action) else f"{value.event.value}",
)
def test_what_the_disk_shows_decides_the_action(record: OperationRecord, action: Action) -> None:
    assert decide(record).action is action
    assert record.operation in decide(record).sentence


def test_nothing_is_removed_unless_its_purge_had_begun() -> None:
    for event, home, aside in product(JournalEvent, (True, False), (True, False)):
        assert decide(found(event, home=home, aside=aside)).action is not Action.COMPLETE_PURGE


def test_a_tree_whose_purge_had_begun_is_never_made_live() -> None:
    alive = {Action.ABANDON, Action.FINISH_RESTORE, Action.SECOND_LOOK, Action.BACK_TO_QUARANTINE}
    for event, home, aside in product(JournalEvent, (True, False), (True, False)):
        assert decide(found(event, home=home, aside=aside, purging=True)).action not in alive


def test_what_only_the_catalog_lags_behind_and_what_is_back_after_it_was_lost_are_told_apart_from_the_rest() -> None:
    assert decide(found(E.QUARANTINED, aside=True), lags=True).sentence.endswith(
        "is quarantined, and only the catalog has yet to say so"
    )
    assert decide(found(E.QUARANTINED, aside=True)).sentence.endswith("finished")
    assert "moved to its old path, a scan finds it" in decide(found(E.LOST, aside=True)).sentence
    assert "is not it" in decide(found(E.LOST, aside=True, strange=True)).sentence
