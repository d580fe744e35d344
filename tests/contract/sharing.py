"""Contract: what our own acts do to an inode with several names is told apart from what anybody else does to it."""

import pytest

from tests.contract.purging import purge
from tests.contract.workshop import Scene, Workshop, scene


def beside(made: Scene, relative: bytes) -> Scene:
    """Return a scene with another target and operation on the same root; it holds one file of its own."""
    other = Scene(made.workshop, made.root, operation="operation-2")
    other.target = made.at(relative)
    made.workshop.write(other.path + b"/own", b"own")
    return other


def fingerprint_aside(made: Scene) -> str:
    """Return the fingerprint of what lies in the scene's quarantine."""
    tree = made.host.observe_quarantined(made.root, made.operation).tree
    assert tree is not None
    return tree.fingerprint


class SharedNamesContract:
    """What happens to a quarantine of which another one shares files by hard links."""

    @pytest.mark.parametrize("single", [False, True], ids=["folder", "file"])
    def test_purging_one_leaves_the_other_as_it_was(self, workshop: Workshop, single: bool) -> None:
        first = scene(workshop).single_file() if single else scene(workshop).dump()
        second = beside(first, b"runs/other")
        workshop.link(first.path if single else first.path + b"/rows/shard-0", second.path + b"/shared")
        second.set_aside()
        before = fingerprint_aside(second)

        assert purge(first.set_aside()).complete

        assert fingerprint_aside(second) == before
        assert purge(second).complete

    def test_a_file_with_two_names_in_the_one_that_goes(self, workshop: Workshop) -> None:
        first = scene(workshop).dump()
        second = beside(first, b"runs/other")
        workshop.link(first.path + b"/rows/shard-0", first.path + b"/rows/again")
        workshop.link(first.path + b"/rows/shard-0", second.path + b"/shared")
        second.set_aside()
        before = fingerprint_aside(second)

        assert purge(first.set_aside()).complete

        assert fingerprint_aside(second) == before

    def test_a_link_with_a_name_in_each(self, workshop: Workshop) -> None:
        first = scene(workshop).dump()
        second = beside(first, b"runs/other")
        workshop.symlink(b"own", first.path + b"/link")
        workshop.link(first.path + b"/link", second.path + b"/link")
        second.set_aside()
        before = fingerprint_aside(second)

        assert purge(first.set_aside()).complete

        assert fingerprint_aside(second) == before

    def test_a_restored_single_file_leaves_the_other_as_it_was(self, workshop: Workshop) -> None:
        first = scene(workshop).single_file()
        second = beside(first, b"runs/other")
        workshop.link(first.path, second.path + b"/shared")
        second.set_aside()
        before = fingerprint_aside(second)

        first.set_aside().host.put_back(first.root, first.operation, to=None, reason="wanted again")

        assert fingerprint_aside(second) == before

    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize("what", ["content", "another name"])
    def test_what_somebody_else_does_is_still_seen(self, workshop: Workshop, when: str, what: str) -> None:
        first = scene(workshop).dump()
        second = beside(first, b"runs/other")
        workshop.link(first.path + b"/rows/shard-0", second.path + b"/shared")
        workshop.link(first.path + b"/rows/shard-0", first.root.path + b"/outside")
        modified_ns = 1_700_000_000_000_000_000
        workshop.set_modified(first.root.path + b"/outside", modified_ns)
        second.set_aside()
        before = fingerprint_aside(second)

        def meddle() -> None:
            if what == "another name":
                workshop.remove(first.root.path + b"/outside")
                return
            workshop.write(first.root.path + b"/outside", b"1" * 5000)
            workshop.set_modified(first.root.path + b"/outside", modified_ns)  # covering it up

        if when == "before":
            meddle()
        purge(first.set_aside())
        if when == "after":
            meddle()

        assert fingerprint_aside(second) != before
