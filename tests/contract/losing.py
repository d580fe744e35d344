"""Contract: an operation is closed as lost only when its content is nowhere."""

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import PutBack
from tests.contract.workshop import Scene, Workshop, scene


def give_up(made: Scene) -> None:
    """Close the scene's operation."""
    made.host.give_up(made.root, made.operation, "confirmed")


class LossContract:
    """`give_up`."""

    @pytest.mark.parametrize("sibling", [False, True], ids=["in the root's folder", "beside its old path"])
    def test_what_was_moved_away_is_given_up_and_what_was_moved_stays(self, workshop: Workshop, sibling: bool) -> None:
        made = scene(workshop).dump()
        made.intend(sibling=sibling)
        made.host.set_aside(made.root, made.operation)
        made.host.confirm(made.root, made.operation)
        placed = made.placed
        before = workshop.tree(placed)
        workshop.rename(placed, workshop.top + b"/taken")

        give_up(made)

        record = made.record()
        assert record.event is JournalEvent.LOST
        assert (record.in_quarantine, record.at_original, record.in_purging) == (False, False, False)
        assert workshop.tree(workshop.top + b"/taken") == before
        assert made.host.put_back(made.root, made.operation, to=None, reason="x") is PutBack.ABSENT
        with pytest.raises(HostFailure):
            give_up(made)

    @pytest.mark.parametrize("where", ["in quarantine", "half emptied", "replaced", "at its place", "being purged"])
    def test_what_is_anywhere_is_not_lost(self, workshop: Workshop, where: str) -> None:
        made = scene(workshop).dump().set_aside()
        placed = made.placed
        if where == "half emptied":
            workshop.remove(placed + b"/rows")
        if where == "replaced":
            workshop.rename(placed, workshop.top + b"/taken")
            workshop.folder(placed)
        if where == "at its place":
            workshop.rename(placed, made.path)
        if where == "being purged":
            made.host.begin_purge(made.root, made.operation)
        before = made.record().event

        with pytest.raises(HostFailure):
            give_up(made)

        assert made.record().event is before

    def test_a_purge_whose_folder_was_taken_away_is_given_up_and_never_called_done(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        made.host.begin_purge(made.root, made.operation)
        content = made.host.observe_quarantined(made.root, made.operation).path
        workshop.rename(content.rpartition(b"/")[0], workshop.top + b"/taken")

        give_up(made)

        assert made.record().event is JournalEvent.LOST
        assert workshop.exists(workshop.top + b"/taken/content/config.json")
