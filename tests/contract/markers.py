"""Contract: what a root remembers of itself, and that a copy of it is refused."""

from dataclasses import replace

import pytest

from artifactctl.domain.errors import HostFailure
from tests.contract.workshop import Scene, Workshop, marker_of, scene


def copied(made: Scene) -> Scene:
    """Return the scene of a copy of the root, described as it stands at its new place."""
    path = made.workshop.top + b"/copy"
    made.workshop.copy_root(made.root.path, path)
    identity = made.host.identity(path)
    assert identity is not None
    return Scene(made.workshop, replace(made.root, path=path, inode=identity.inode))


class MarkerContract:
    """`read_marker`, `write_marker`, `mirror`, `read_mirror`, and the header of the journal."""

    def test_a_folder_without_marker_has_none(self, workshop: Workshop) -> None:
        workshop.folder(workshop.top + b"/plain")

        assert workshop.host.read_marker(workshop.top + b"/plain") is None

    def test_a_marker_comes_back_as_written(self, workshop: Workshop) -> None:
        made = scene(workshop)

        assert workshop.host.read_marker(made.root.path) == marker_of(made.root)

    def test_a_marker_can_be_written_for_the_next_epoch_without_losing_the_journal(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        later = marker_of(made.root, catalog_epoch=2)

        workshop.host.write_marker(made.root.path, later)

        assert workshop.host.read_marker(made.root.path) == later
        assert made.record().in_quarantine

    @pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"root_id": 3}'], ids=repr)
    def test_a_marker_that_cannot_be_parsed_is_a_failure(self, workshop: Workshop, garbage: bytes) -> None:
        made = scene(workshop)
        workshop.write(made.root.path + b"/.artifactctl/root.json", garbage)

        with pytest.raises(HostFailure):
            workshop.host.read_marker(made.root.path)

    def test_mirrors_come_back_as_last_written(self, workshop: Workshop) -> None:
        made = scene(workshop)

        assert workshop.host.read_mirror(made.root.path, "holds") is None
        workshop.host.mirror(made.root.path, "holds", b"first and long")
        workshop.host.mirror(made.root.path, "holds", b"second")
        workshop.host.mirror(made.root.path, "operations", b"other")

        assert workshop.host.read_mirror(made.root.path, "holds") == b"second"
        assert workshop.host.read_mirror(made.root.path, "operations") == b"other"

    def test_a_new_root_has_no_operations(self, workshop: Workshop) -> None:
        made = scene(workshop)

        assert workshop.host.operations(made.root) == ()

    def test_the_journal_of_a_copied_root_is_refused(self, workshop: Workshop) -> None:
        clone = copied(scene(workshop).dump().set_aside())

        with pytest.raises(HostFailure):
            workshop.host.operations(clone.root)

    def test_nothing_can_be_removed_in_a_copied_root(self, workshop: Workshop) -> None:
        clone = copied(scene(workshop).dump())
        before = workshop.tree(clone.path)

        with pytest.raises(HostFailure):
            workshop.host.intend(clone.root, clone.note(), sibling=False)

        assert workshop.tree(clone.path) == before

    def test_a_root_that_lost_its_journal_is_refused(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.remove(made.root.path + b"/.artifactctl")

        with pytest.raises(HostFailure):
            workshop.host.operations(made.root)
        with pytest.raises(HostFailure):
            made.intend()
