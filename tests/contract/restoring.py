"""Contract: putting back gives the same tree, and never at anybody's cost."""

import pytest
from hypothesis import given, settings

from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import PutBack
from tests.contract.health import PER_WORKSHOP
from tests.contract.trees import plant, trees
from tests.contract.workshop import Scene, Workshop, scene


def put_back(made: Scene, to: bytes | None = None) -> PutBack:
    """Restore the scene's operation."""
    return made.host.put_back(made.root, made.operation, to=made.at(to) if to else None, reason="needed after all")


class RestoreContract:
    """`put_back`."""

    @pytest.mark.parametrize("single", [False, True], ids=["folder", "file"])
    def test_a_restore_gives_back_the_same_inodes(self, workshop: Workshop, single: bool) -> None:
        made = scene(workshop).single_file() if single else scene(workshop).dump()
        before, identity = workshop.tree(made.path), made.identity()
        made.set_aside()

        outcome = put_back(made)

        record = made.record()
        assert outcome is PutBack.DONE
        assert workshop.tree(made.path) == before
        assert made.identity() == identity
        assert (record.event, record.restored_to) == (JournalEvent.RESTORED, b"runs/dump")
        assert (record.at_original, record.original_matches, record.in_quarantine) == (True, True, False)

    @given(tree=trees)
    @settings(max_examples=15, deadline=None, suppress_health_check=PER_WORKSHOP)
    def test_any_tree_comes_back_as_it_was(self, workshop: Workshop, tree: dict[bytes, bytes]) -> None:
        top = plant(workshop, tree)
        made = scene(workshop, top.rpartition(b"/")[2] + b"-root")
        plant(workshop, tree, top=made.path)
        before, seen = workshop.tree(made.path), made.observe().tree
        made.set_aside()

        assert put_back(made) is PutBack.DONE

        after = made.observe().tree
        assert seen is not None
        assert after is not None
        assert workshop.tree(made.path) == before
        assert (after.fingerprint, after.member_digest) == (seen.fingerprint, seen.member_digest)

    def test_a_restore_can_go_elsewhere(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = workshop.tree(made.path)
        made.set_aside()

        assert put_back(made, b"runs/rescued") is PutBack.DONE

        record = made.record()
        assert workshop.tree(made.root.path + b"/runs/rescued") == before
        assert (record.event, record.restored_to) == (JournalEvent.RESTORED, b"runs/rescued")
        assert (record.at_original, record.in_quarantine) == (False, False)

    @pytest.mark.parametrize("what", ["file", "empty folder", "full folder", "dangling link"])
    def test_an_occupied_place_is_refused_and_nothing_is_lost(self, workshop: Workshop, what: str) -> None:
        made = scene(workshop).dump().set_aside()
        if what == "file":
            workshop.write(made.path, b"new")
        if what == "empty folder":
            workshop.folder(made.path)
        if what == "full folder":
            workshop.write(made.path + b"/config.json", b"new")
        if what == "dangling link":
            workshop.symlink(b"nowhere", made.path)
        new, old = workshop.tree(made.path), workshop.tree(made.placed)

        assert put_back(made) is PutBack.OCCUPIED

        assert workshop.tree(made.path) == new
        assert workshop.tree(made.placed) == old
        assert (made.record().in_quarantine, made.record().original_matches) == (True, False)

    def test_after_a_refusal_another_place_still_works(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        workshop.folder(made.path)
        made.host.keep(made.root, made.operation, "occupied")

        assert put_back(made) is PutBack.OCCUPIED
        assert put_back(made, b"runs/rescued") is PutBack.DONE

    def test_a_folder_that_is_gone_is_no_parent(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        workshop.remove(made.root.path + b"/runs")

        assert put_back(made) is PutBack.NO_PARENT
        assert made.record().in_quarantine

    def test_a_folder_behind_a_link_is_no_parent(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        workshop.rename(made.root.path + b"/runs", workshop.top + b"/moved")
        workshop.symlink(workshop.top + b"/moved", made.root.path + b"/runs")

        assert put_back(made) is PutBack.NO_PARENT
        assert made.record().in_quarantine
        assert not workshop.exists(workshop.top + b"/moved/dump")

    def test_nothing_is_carried_to_another_filesystem(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        workshop.folder(made.root.path + b"/other")

        with workshop.other_volume(made.root.path + b"/other"):
            outcome = put_back(made, b"other/dump")

        assert outcome in (PutBack.CROSS_DEVICE, PutBack.NO_PARENT)
        assert made.record().in_quarantine

    def test_what_was_never_set_aside_is_absent(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()

        assert put_back(made) is PutBack.ABSENT
        assert made.record().at_original

    def test_what_was_put_back_is_absent_afterwards(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        put_back(made)
        before = workshop.tree(made.path)

        assert put_back(made, b"runs/again") is PutBack.ABSENT
        assert workshop.tree(made.path) == before

    def test_what_a_person_moved_back_is_journalled_as_restored(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = workshop.tree(made.path)
        made.set_aside()
        workshop.rename(made.placed, made.path)

        assert put_back(made) is PutBack.DONE

        record = made.record()
        assert (record.event, record.restored_to) == (JournalEvent.RESTORED, b"runs/dump")
        assert workshop.tree(made.path) == before

    def test_another_thing_at_the_place_is_not_taken_for_what_a_person_moved_back(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        workshop.rename(made.placed, made.root.path + b"/runs/elsewhere")
        workshop.write(made.path + b"/config.json", b"new")

        assert put_back(made) is PutBack.ABSENT
        assert made.record().event is JournalEvent.QUARANTINED

    def test_another_thing_in_quarantine_is_not_put_back(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        placed = made.placed
        workshop.rename(placed, workshop.top + b"/stolen")
        workshop.write(placed + b"/config.json", b"forged")

        assert put_back(made) is PutBack.REPLACED
        assert not workshop.exists(made.path)
        assert made.record().quarantine_matches is False

    def test_a_purge_that_has_begun_cannot_be_undone(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        made.host.begin_purge(made.root, made.operation)

        assert put_back(made) is PutBack.PURGING
        assert not workshop.exists(made.path)

    def test_a_restored_target_can_be_set_aside_again_by_another_operation(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        put_back(made)
        made.operation = "operation-2"

        made.set_aside()

        assert [record.in_quarantine for record in made.host.operations(made.root)] == [False, True]

    def test_beside_the_target_works_as_well(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = workshop.tree(made.path)
        made.intend(sibling=True)

        assert made.host.set_aside(made.root, made.operation) == "done"
        assert workshop.tree(made.placed) == before
        assert made.record().placed.startswith(b"runs/")
        assert put_back(made) is PutBack.DONE

        assert workshop.tree(made.path) == before
        assert set(workshop.tree(made.root.path + b"/runs")) == {
            b"runs/dump"[5:] if not relative else b"dump/" + relative for relative in before
        } | {b""}

    def test_on_a_mount_below_the_root_the_place_beside_is_offered(self, workshop: Workshop) -> None:
        made = scene(workshop)

        with workshop.other_volume(made.root.path + b"/runs"):
            made.dump()
            placement = made.host.placement(made.root, made.target)

        assert placement.possible == placement.sibling
