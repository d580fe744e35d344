"""Contract: setting aside is one rename or nothing at all."""

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.observation import HolderKind
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import SetAside
from tests.contract.workshop import Workshop, scene


class QuarantineContract:
    """`placement`, `intend`, `set_aside`, `confirm`, `keep`, `abandon`, and what `operations` says after each."""

    def test_the_intent_is_journalled_before_anything_moves(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = workshop.tree(made.path)
        note = made.note()

        fingerprint = workshop.host.intend(made.root, note, sibling=False)

        record = made.record()
        assert fingerprint == note.fingerprint
        assert (record.event, record.original, record.name) == (JournalEvent.INTENDED, b"runs/dump", "dump")
        assert (record.identity, record.fingerprint) == (note.identity, fingerprint)
        assert (record.allocated_bytes, record.catalog_id) == (note.allocated_bytes, note.catalog_id)
        assert (record.at_original, record.original_matches) == (True, True)
        assert (record.in_quarantine, record.quarantine_matches, record.in_purging) == (False, None, False)
        assert record.manifest_intact
        assert workshop.tree(made.path) == before

    @pytest.mark.parametrize("single", [False, True], ids=["folder", "file"])
    def test_a_target_is_set_aside_whole(self, workshop: Workshop, single: bool) -> None:
        made = scene(workshop).single_file() if single else scene(workshop).dump()
        before = workshop.tree(made.path)
        made.intend()

        outcome = workshop.host.set_aside(made.root, made.operation)

        record = made.record()
        assert outcome is SetAside.DONE
        assert record.event is JournalEvent.RENAMED
        assert (record.at_original, record.original_matches) == (False, None)
        assert (record.in_quarantine, record.quarantine_matches) == (True, True)
        assert not workshop.exists(made.path)
        assert workshop.tree(made.placed) == before

    def test_the_quarantined_tree_is_seen_as_it_was(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = made.observe()
        made.set_aside()

        seen = workshop.host.observe_quarantined(made.root, made.operation)

        assert before.tree is not None
        assert seen.tree is not None
        assert seen.identity == before.identity
        assert seen.tree.fingerprint == before.tree.fingerprint
        assert seen.tree.member_digest == before.tree.member_digest

    @pytest.mark.parametrize("single", [False, True], ids=["folder", "file"])
    def test_a_rename_does_not_make_the_target_look_recently_changed(self, workshop: Workshop, single: bool) -> None:
        made = scene(workshop).single_file() if single else scene(workshop).dump()
        before = made.observe().tree
        made.set_aside()

        seen = workshop.host.observe_quarantined(made.root, made.operation).tree

        assert before is not None
        assert seen is not None
        assert (seen.changed_at, seen.changed_path) == (before.changed_at, before.changed_path)

    def test_an_absolute_link_inside_is_still_inside_in_quarantine(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.symlink(made.path + b"/rows", made.path + b"/inner")
        workshop.symlink(made.path + b"-2", made.path + b"/outer")
        made.set_aside()

        seen = workshop.host.observe_quarantined(made.root, made.operation).tree

        assert seen is not None
        assert [link for link, _ in seen.escaping_links] == [b"outer"]

    def test_a_change_in_quarantine_is_seen(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        fingerprint = made.set_aside().record().fingerprint
        workshop.write(made.placed + b"/rows/shard-9", b"late")

        seen = workshop.host.observe_quarantined(made.root, made.operation)

        assert seen.tree is not None
        assert seen.tree.fingerprint != fingerprint

    @pytest.mark.parametrize(
        ("verb", "event"),
        [("confirm", JournalEvent.QUARANTINED), ("keep", JournalEvent.KEPT)],
    )
    def test_the_verdict_of_the_second_look_is_journalled(
        self, workshop: Workshop, verb: str, event: JournalEvent
    ) -> None:
        made = scene(workshop).dump()
        made.intend()
        workshop.host.set_aside(made.root, made.operation)

        if verb == "confirm":
            workshop.host.confirm(made.root, made.operation)
        else:
            workshop.host.keep(made.root, made.operation, "pid 411 has it open")

        assert made.record().event is event
        assert made.record().in_quarantine

    def test_nothing_is_purged_that_was_not_looked_at_again(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()
        workshop.host.set_aside(made.root, made.operation)

        with pytest.raises(HostFailure):
            workshop.host.begin_purge(made.root, made.operation)

        assert made.record().event is JournalEvent.RENAMED
        assert made.record().in_quarantine

    def test_a_verdict_is_refused_before_anything_moved(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()

        with pytest.raises(HostFailure):
            workshop.host.confirm(made.root, made.operation)
        with pytest.raises(HostFailure):
            workshop.host.keep(made.root, made.operation, "busy")

        assert made.record().event is JournalEvent.INTENDED

    def test_an_intent_can_be_abandoned(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()

        workshop.host.abandon(made.root, made.operation, "refused")

        assert made.record().event is JournalEvent.ABANDONED
        assert made.record().at_original

    def test_the_journal_keeps_operations_apart_and_in_order(self, workshop: Workshop) -> None:
        made = scene(workshop)
        for number in range(3):
            workshop.write(made.root.path + b"/runs/r%d/file" % number, b"x")
            made.operation = f"operation-{number}"
            made.intend(made.at(b"runs/r%d" % number))

        workshop.host.set_aside(made.root, "operation-1")

        found = workshop.host.operations(made.root)
        assert [record.operation for record in found] == ["operation-0", "operation-1", "operation-2"]
        assert [record.in_quarantine for record in found] == [False, True, False]

    def test_what_went_away_is_absent(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()
        workshop.remove(made.path)

        assert workshop.host.set_aside(made.root, made.operation) is SetAside.ABSENT
        assert not made.record().in_quarantine

    def test_another_inode_at_the_path_is_left_alone(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()
        workshop.rename(made.path, made.path + b"-old")
        workshop.write(made.path + b"/new", b"new")

        assert workshop.host.set_aside(made.root, made.operation) is SetAside.REPLACED
        assert workshop.read(made.path + b"/new") == b"new"
        assert (made.record().at_original, made.record().original_matches) == (True, False)

    def test_an_occupied_place_in_quarantine_is_refused(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()
        workshop.write(made.placed, b"somebody else's")

        assert workshop.host.set_aside(made.root, made.operation) is SetAside.OCCUPIED
        assert workshop.read(made.placed) == b"somebody else's"
        assert workshop.exists(made.path + b"/config.json")

    def test_what_somebody_else_put_into_quarantine_never_becomes_the_target(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()
        workshop.write(made.placed, b"somebody else's")
        workshop.remove(made.path)

        try:
            outcome = workshop.host.set_aside(made.root, made.operation)
        except HostFailure:
            outcome = SetAside.DENIED

        assert outcome is not SetAside.DONE
        assert not workshop.exists(made.path)

    def test_a_file_in_use_is_not_renamed(self, workshop: Workshop) -> None:
        made = scene(workshop).single_file()
        made.intend()

        with workshop.holding(HolderKind.DESCRIPTOR, made.path):
            outcome = workshop.host.set_aside(made.root, made.operation)

        assert outcome is SetAside.IN_USE
        assert made.record().at_original

    def test_a_folder_in_use_is_renamed_and_the_second_look_finds_the_user(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()

        with workshop.holding(HolderKind.DESCRIPTOR, made.path + b"/config.json"):
            outcome = workshop.host.set_aside(made.root, made.operation)
            seen = workshop.host.observe_quarantined(made.root, made.operation)

        assert outcome is SetAside.DONE
        assert seen.holders.holders

    def test_a_link_on_the_way_that_came_after_the_intent_is_not_followed(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()
        workshop.rename(made.root.path + b"/runs", workshop.top + b"/moved")
        workshop.symlink(workshop.top + b"/moved", made.root.path + b"/runs")

        try:
            outcome = workshop.host.set_aside(made.root, made.operation)
        except HostFailure:
            outcome = SetAside.DENIED

        assert outcome is not SetAside.DONE
        assert workshop.exists(workshop.top + b"/moved/dump/config.json")

    def test_a_mount_point_stays(self, workshop: Workshop) -> None:
        made = scene(workshop)
        workshop.folder(made.path)
        made.intend()

        with workshop.bound(made.root.path + b"/runs", made.path):
            placement = workshop.host.placement(made.root, made.target)
            outcome = workshop.host.set_aside(made.root, made.operation)

        assert not placement.possible
        assert outcome in (SetAside.MOUNTED, SetAside.REPLACED, SetAside.CROSS_DEVICE)
        assert workshop.exists(made.path)

    def test_a_target_on_the_roots_mount_goes_into_the_roots_own_folder(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()

        placement = workshop.host.placement(made.root, made.target)

        assert (placement.possible, placement.sibling) == (True, False)

    def test_nothing_is_carried_to_another_filesystem(self, workshop: Workshop) -> None:
        made = scene(workshop)

        with workshop.other_volume(made.root.path + b"/runs"):
            made.dump()
            before = workshop.tree(made.path)
            try:
                made.intend(sibling=False)
                outcome = workshop.host.set_aside(made.root, made.operation)
            except HostFailure:
                outcome = SetAside.CROSS_DEVICE
            after = workshop.tree(made.path)

        assert outcome is SetAside.CROSS_DEVICE
        assert after == before

    def test_an_operation_is_intended_once(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()

        with pytest.raises(HostFailure):
            made.intend()

    def test_a_name_that_leads_elsewhere_is_no_operation(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.operation = "../../escape"

        with pytest.raises(HostFailure):
            made.intend()
        assert not workshop.exists(made.root.path + b"/escape")

    @pytest.mark.parametrize("verb", ["set_aside", "confirm", "begin_purge", "purge", "observe_quarantined"])
    def test_an_unknown_operation_is_a_failure(self, workshop: Workshop, verb: str) -> None:
        made = scene(workshop).dump()

        with pytest.raises(HostFailure):
            getattr(workshop.host, verb)(made.root, "no-such-operation")

    def test_nothing_cannot_be_intended(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        note = made.note()
        workshop.remove(made.path)

        with pytest.raises(HostFailure):
            workshop.host.intend(made.root, note, sibling=False)
        assert made.host.operations(made.root) == ()

    def test_what_was_renamed_cannot_be_abandoned(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()

        with pytest.raises(HostFailure):
            workshop.host.abandon(made.root, made.operation, "mistake")
        assert made.record().in_quarantine
