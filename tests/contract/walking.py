"""Contract: what a walk reports, in which order, and where it stops."""

import posixpath

import pytest
from hypothesis import given, settings

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import member_order
from artifactctl.domain.members import member_digest
from artifactctl.hosts.protocol import EntryType, Listing
from tests.contract.health import PER_WORKSHOP
from tests.contract.trees import plant, trees
from tests.contract.workshop import Workshop, scene

NOT_UTF8 = b"caf\xe9 \n\x1b[31m"


def members(listings: list[Listing]) -> list[bytes]:
    """Return every name that is not a folder, as relative paths in the order of a depth-first walk."""
    found = [
        posixpath.join(listing.relative, entry.name)
        for listing in listings
        for entry in listing.entries
        if entry.type is not EntryType.DIRECTORY
    ]
    return sorted(found, key=member_order)


class WalkContract:
    """`walk`."""

    def test_folders_come_depth_first_in_byte_order_with_the_top_first(self, workshop: Workshop) -> None:
        top = workshop.top + b"/tree"
        for name in (b"b/x/1", b"b-1/1", b"a/2", b"a/1", NOT_UTF8 + b"/1", b"z"):
            workshop.write(top + b"/" + name, b"x")

        listings = list(workshop.host.walk(top))

        assert [listing.relative for listing in listings] == [b"", b"a", b"b", b"b/x", b"b-1", NOT_UTF8]
        assert [entry.name for entry in listings[0].entries] == sorted([b"a", b"b", b"b-1", NOT_UTF8, b"z"])

    def test_entries_say_what_lstat_says(self, workshop: Workshop) -> None:
        top = workshop.top + b"/tree"
        workshop.write(top + b"/file", b"x" * 5000)
        workshop.link(top + b"/file", top + b"/twin")
        workshop.symlink(b"../elsewhere", top + b"/link")
        workshop.fifo(top + b"/pipe")

        (listing,) = workshop.host.walk(top)

        seen = {entry.name: entry for entry in listing.entries}
        assert (seen[b"file"].type, seen[b"file"].size_bytes, seen[b"file"].links) == (EntryType.FILE, 5000, 2)
        assert seen[b"file"].allocated_bytes >= 5000
        assert seen[b"twin"].inode == seen[b"file"].inode
        assert (seen[b"link"].type, seen[b"link"].link_target) == (EntryType.SYMLINK, b"../elsewhere")
        assert seen[b"pipe"].type is EntryType.OTHER

    def test_the_private_folder_of_a_root_is_skipped(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()

        listings = list(workshop.host.walk(made.root.path))

        assert [listing.relative for listing in listings] == [b"", b"runs", b"runs/dump", b"runs/dump/rows"]
        assert [entry.name for entry in listings[0].entries] == [b"runs"]

    def test_what_was_set_aside_beside_its_place_is_nobodys_content(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.write(made.root.path + b"/runs/kept/shard", b"x")
        made.intend(sibling=True)
        assert made.host.set_aside(made.root, made.operation) == "done"

        listings = list(workshop.host.walk(made.root.path))

        assert [listing.relative for listing in listings] == [b"", b"runs", b"runs/kept"]
        assert members(listings) == [b"runs/kept/shard"]

    def test_names_that_only_look_like_a_quarantine_are_walked(self, workshop: Workshop) -> None:
        top = workshop.top + b"/tree"
        workshop.write(top + b"/.artifactctl-quarantine-", b"x")
        workshop.write(top + b"/.artifactctl-quarantine-op9", b"a file of that name")
        workshop.write(top + b"/.artifactctl-quarantine-.x/file", b"x")

        assert len(members(list(workshop.host.walk(top)))) == 3

    def test_a_link_to_a_folder_is_not_entered(self, workshop: Workshop) -> None:
        workshop.write(workshop.top + b"/outside/file", b"x")
        workshop.folder(workshop.top + b"/tree")
        workshop.symlink(b"../outside", workshop.top + b"/tree/link")

        assert [listing.relative for listing in workshop.host.walk(workshop.top + b"/tree")] == [b""]

    def test_a_bind_mount_of_the_same_filesystem_is_reported_and_not_entered(self, workshop: Workshop) -> None:
        workshop.write(workshop.top + b"/precious/file", b"x")
        workshop.folder(workshop.top + b"/tree/place")

        with workshop.bound(workshop.top + b"/precious", workshop.top + b"/tree/place"):
            listings = list(workshop.host.walk(workshop.top + b"/tree"))

        assert [(found.relative, found.is_mount, found.entries != ()) for found in listings] == [
            (b"", False, True),
            (b"place", True, False),
        ]

    def test_another_filesystem_is_reported_and_not_entered(self, workshop: Workshop) -> None:
        workshop.folder(workshop.top + b"/tree/place")

        with workshop.other_volume(workshop.top + b"/tree/place"):
            workshop.write(workshop.top + b"/tree/place/file", b"x")
            listings = list(workshop.host.walk(workshop.top + b"/tree"))

        assert [(found.relative, found.is_mount) for found in listings] == [(b"", False), (b"place", True)]
        assert listings[1].entries == ()

    def test_a_file_yields_itself(self, workshop: Workshop) -> None:
        workshop.write(workshop.top + b"/file", b"12345")

        (listing,) = workshop.host.walk(workshop.top + b"/file")

        assert listing.relative == b""
        assert [(entry.name, entry.size_bytes) for entry in listing.entries] == [(b"file", 5)]

    def test_nothing_there_is_a_failure_and_not_an_empty_tree(self, workshop: Workshop) -> None:
        with pytest.raises(HostFailure):
            list(workshop.host.walk(workshop.top + b"/absent"))

    def test_a_tree_of_five_hundred_levels_is_walked(self, workshop: Workshop) -> None:
        path = workshop.top + b"/tree"
        for _ in range(500):
            path += b"/d"
        workshop.write(path + b"/file", b"x")

        listings = list(workshop.host.walk(workshop.top + b"/tree"))

        assert len(listings) == 501
        assert [entry.name for entry in listings[-1].entries] == [b"file"]

    @given(tree=trees)
    @settings(max_examples=15, deadline=None, suppress_health_check=PER_WORKSHOP)
    def test_any_tree_is_reported_whole_and_once(self, workshop: Workshop, tree: dict[bytes, bytes]) -> None:
        top = plant(workshop, tree)

        listings = list(workshop.host.walk(top))

        assert members(listings) == sorted(tree, key=member_order)
        sizes = {
            posixpath.join(listing.relative, entry.name): entry.size_bytes
            for listing in listings
            for entry in listing.entries
        }
        assert {name: sizes[name] for name in tree} == {name: len(content) for name, content in tree.items()}

    @given(tree=trees)
    @settings(max_examples=15, deadline=None, suppress_health_check=PER_WORKSHOP)
    def test_any_tree_has_the_member_digest_of_the_domain(self, workshop: Workshop, tree: dict[bytes, bytes]) -> None:
        made = scene(workshop, plant(workshop, {}).rpartition(b"/")[2] + b"-root")
        plant(workshop, tree, top=made.path)
        expected = member_digest((path, "f", len(tree[path])) for path in sorted(tree, key=member_order))

        seen = made.observe().tree

        assert seen is not None
        assert seen.member_digest == expected
