"""Contract: one look at a target says everything that is true of it, and two looks differ after any change."""

from collections.abc import Callable

import pytest

from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.observation import MarkerState, ObstacleKind, TreeSummary
from artifactctl.hosts.protocol import Entry
from tests.contract.workshop import CATALOG_EPOCH, CATALOG_ID, Scene, Workshop, marker_of, scene


def entry(made: Scene, name: bytes) -> Entry:
    """Return what lstat says of a shard."""
    (listing,) = made.host.walk(made.path + b"/rows")
    return next(found for found in listing.entries if found.name == name)


def rewrite_and_hide_it(made: Scene) -> None:
    """Change content in place, with the same size, and set mtime back: only ctime tells."""
    path = made.path + b"/rows/shard-0"
    before = entry(made, b"shard-0")
    made.workshop.write(path, b"!" * before.size_bytes)
    made.workshop.set_modified(path, before.modified_ns)


def replace_by_a_copy(made: Scene) -> None:
    """Put another inode with the same content and mtime at a member's place."""
    path = made.path + b"/rows/shard-0"
    before = entry(made, b"shard-0")
    made.workshop.write(path + b".new", made.workshop.read(path))
    made.workshop.remove(path)
    made.workshop.rename(path + b".new", path)
    made.workshop.set_modified(path, before.modified_ns)


CHANGES: dict[str, Callable[[Scene], None]] = {
    "longer content": lambda made: made.workshop.write(made.path + b"/rows/shard-0", b"longer" * 5000),
    "same size, mtime set back": rewrite_and_hide_it,
    "an inode exchanged": replace_by_a_copy,
    "a file added": lambda made: made.workshop.write(made.path + b"/rows/shard-9", b"x"),
    "an empty folder added": lambda made: made.workshop.folder(made.path + b"/rows/empty"),
    "a link added": lambda made: made.workshop.symlink(b"rows", made.path + b"/latest"),
    "a file removed": lambda made: made.workshop.remove(made.path + b"/rows/shard-0"),
    "a file renamed": lambda made: made.workshop.rename(made.path + b"/rows/shard-0", made.path + b"/rows/shard-8"),
    "a folder renamed": lambda made: made.workshop.rename(made.path + b"/rows", made.path + b"/columns"),
    "a file moved up": lambda made: made.workshop.rename(made.path + b"/rows/shard-0", made.path + b"/shard-0"),
    "permissions": lambda made: made.workshop.set_mode(made.path + b"/rows/shard-0", 0o600),
    "a name outside": lambda made: made.workshop.link(made.path + b"/rows/shard-0", made.root.path + b"/kept"),
}


def tree_of(made: Scene) -> TreeSummary:
    """Return the summary of the target, which must be there."""
    summary = made.observe().tree
    assert summary is not None
    return summary


class ObservationContract:
    """`observe`: the tree."""

    def test_nothing_there_is_seen_as_nothing(self, workshop: Workshop) -> None:
        seen = scene(workshop).observe()

        assert (seen.identity, seen.tree, seen.is_directory) == (None, None, False)

    def test_a_folder_is_measured(self, workshop: Workshop) -> None:
        made = scene(workshop).dump(shards=3)
        workshop.symlink(b"rows", made.path + b"/latest")

        seen = made.observe()

        assert seen.tree is not None
        assert seen.is_directory
        assert seen.path == made.path
        assert seen.identity == made.host.identity(made.path)
        assert (seen.tree.files, seen.tree.symlinks, seen.tree.problems) == (4, 1, ())
        assert seen.tree.allocated_bytes >= 15002
        assert seen.tree.exclusive_bytes == seen.tree.allocated_bytes
        assert seen.problems == ()

    def test_a_single_file_is_measured(self, workshop: Workshop) -> None:
        seen = scene(workshop).single_file().observe()

        assert seen.tree is not None
        assert not seen.is_directory
        assert (seen.tree.files, seen.tree.directories, seen.tree.apparent_bytes) == (1, 0, 7000)

    def test_two_looks_at_an_unchanged_tree_agree(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()

        first, second = tree_of(made), tree_of(made)

        assert (first.fingerprint, first.member_digest) == (second.fingerprint, second.member_digest)
        assert first == second

    def test_reading_a_member_leaves_the_fingerprint(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = tree_of(made)

        workshop.read(made.path + b"/rows/shard-0")

        assert tree_of(made).fingerprint == before.fingerprint

    def test_a_rename_aside_and_back_leaves_the_fingerprint_of_a_folder(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = tree_of(made)

        workshop.rename(made.path, made.path + b"-aside")
        aside = made.observe(made.at(b"runs/dump-aside")).tree
        workshop.rename(made.path + b"-aside", made.path)

        assert aside is not None
        assert aside.fingerprint == before.fingerprint
        assert tree_of(made).fingerprint == before.fingerprint

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
    def test_every_change_changes_the_fingerprint(self, workshop: Workshop, change: Callable[[Scene], None]) -> None:
        made = scene(workshop).dump()
        before = tree_of(made)

        change(made)

        assert tree_of(made).fingerprint != before.fingerprint

    def test_new_content_of_a_single_file_changes_its_fingerprint(self, workshop: Workshop) -> None:
        made = scene(workshop).single_file()
        before = tree_of(made)

        workshop.write(made.path, b"WEIGHTS" * 1000)

        assert tree_of(made).fingerprint != before.fingerprint

    def test_the_same_members_elsewhere_have_the_same_digest_and_another_fingerprint(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.copy_root(made.path, made.root.path + b"/copy")

        copy = made.observe(made.at(b"copy")).tree

        assert copy is not None
        assert copy.member_digest == tree_of(made).member_digest
        assert copy.fingerprint != tree_of(made).fingerprint

    def test_the_member_digest_is_over_names_types_and_sizes(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = tree_of(made).member_digest

        workshop.write(made.path + b"/rows/shard-0", b"!" * 5000)
        assert tree_of(made).member_digest == before

        workshop.write(made.path + b"/rows/shard-0", b"!" * 4999)
        assert tree_of(made).member_digest != before

    def test_the_newest_change_is_named(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = workshop.host.now()
        workshop.write(made.path + b"/rows/shard-1", b"late")

        seen = tree_of(made)

        assert seen.changed_path == b"rows/shard-1"
        assert abs((seen.changed_at - before).total_seconds()) < 60

    def test_links_that_lead_outside_are_named_and_inner_ones_are_not(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.symlink(b"rows/shard-0", made.path + b"/inner")
        workshop.symlink(made.path + b"/rows", made.path + b"/inner-absolute")
        workshop.symlink(b"../other", made.path + b"/outer")
        workshop.symlink(b"/etc/passwd", made.path + b"/rows/outer-absolute")
        workshop.symlink(b"../dump-2", made.path + b"/outer-with-the-same-beginning")

        escaping = tree_of(made).escaping_links

        assert dict(escaping) == {
            b"outer": b"../other",
            b"rows/outer-absolute": b"/etc/passwd",
            b"outer-with-the-same-beginning": b"../dump-2",
        }

    def test_special_files_are_named(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.fifo(made.path + b"/rows/pipe")

        assert [path for path, _ in tree_of(made).special_files] == [b"rows/pipe"]

    def test_bytes_with_a_name_outside_are_not_exclusive(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.link(made.path + b"/rows/shard-0", made.root.path + b"/kept")

        seen = tree_of(made)

        assert seen.outside_names == ((b"rows/shard-0", 1),)
        assert seen.allocated_bytes - seen.exclusive_bytes >= 5000

    def test_a_file_with_two_names_inside_counts_once(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = tree_of(made)
        workshop.link(made.path + b"/rows/shard-0", made.path + b"/rows/shard-0-too")

        seen = tree_of(made)

        assert seen.outside_names == ()
        assert seen.exclusive_bytes == seen.allocated_bytes == before.allocated_bytes

    def test_what_was_set_aside_inside_the_target_is_seen(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        outer = made.at(b"runs")
        workshop.write(made.root.path + b"/runs/kept", b"x")
        before = made.observe(outer).tree
        made.intend(sibling=True)
        assert made.host.set_aside(made.root, made.operation) == "done"

        after = made.observe(outer).tree

        assert before is not None
        assert after is not None
        assert after.files >= before.files
        assert after.member_digest != before.member_digest

    def test_an_immutable_member_is_an_obstacle(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.set_immutable(made.path + b"/rows/shard-1", True)

        seen = made.observe()
        workshop.set_immutable(made.path + b"/rows/shard-1", False)

        assert [(found.kind, found.path) for found in seen.obstacles] == [(ObstacleKind.IMMUTABLE, b"rows/shard-1")]
        assert made.observe().obstacles == ()


class ConfinementContract:
    """`observe`: where the target really lies."""

    def test_a_target_in_its_root_is_confined(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()

        seen = made.observe().confinement

        assert seen.marker is MarkerState.MATCHES
        assert (seen.filesystem_uuid, seen.symlinked_component) == (made.root.filesystem_uuid, None)
        assert (seen.mounts, seen.mounts_complete) == ((), True)

    def test_a_link_on_the_way_is_named(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.symlink(b"runs", made.root.path + b"/latest")

        seen = made.observe(made.at(b"latest/dump")).confinement

        assert seen.symlinked_component is not None
        assert seen.symlinked_component.endswith(b"latest")

    def test_a_bind_mount_below_is_sighted(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.folder(workshop.top + b"/precious")
        workshop.folder(made.path + b"/rows/place")

        with workshop.bound(workshop.top + b"/precious", made.path + b"/rows/place"):
            seen = made.observe().confinement

        assert [mount.relative for mount in seen.mounts] == [b"rows/place"]

    def test_a_mount_on_the_target_itself_is_sighted(self, workshop: Workshop) -> None:
        made = scene(workshop)
        workshop.folder(made.path)

        with workshop.other_volume(made.path):
            seen = made.observe().confinement

        assert [mount.relative for mount in seen.mounts] == [b""]

    def test_a_target_beyond_a_mount_is_never_taken_for_absent(self, workshop: Workshop) -> None:
        made = scene(workshop)

        with workshop.other_volume(made.root.path + b"/runs"):
            made.dump()
            seen = made.observe()

        assert seen.identity is not None or seen.problems
        assert seen.confinement.mounts or seen.confinement.filesystem_uuid != made.root.filesystem_uuid

    def test_a_mount_beside_is_none_of_ours(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.folder(made.path + b"-2")

        with workshop.other_volume(made.path + b"-2"):
            assert made.observe().confinement.mounts == ()

    @pytest.mark.parametrize(
        ("catalog_id", "catalog_epoch"),
        [("catalog-2", CATALOG_EPOCH), (CATALOG_ID, CATALOG_EPOCH + 1), (CATALOG_ID, CATALOG_EPOCH - 1)],
        ids=["another catalog", "a newer epoch", "an older epoch"],
    )
    def test_another_catalog_finds_the_marker_foreign(
        self, workshop: Workshop, catalog_id: str, catalog_epoch: int
    ) -> None:
        made = scene(workshop).dump()

        seen = workshop.host.observe(made.root, made.target, catalog_id=catalog_id, catalog_epoch=catalog_epoch)

        assert seen.confinement.marker is MarkerState.FOREIGN

    def test_a_marker_of_another_root_is_foreign(self, workshop: Workshop) -> None:
        made, other = scene(workshop).dump(), scene(workshop, b"other")
        workshop.host.write_marker(made.root.path, marker_of(other.root))

        assert made.observe().confinement.marker in (MarkerState.FOREIGN, MarkerState.CLONED)

    def test_a_copied_root_is_seen_as_a_clone(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.copy_root(made.root.path, workshop.top + b"/copy")
        target = ManagedPath(root=workshop.top + b"/copy", relative=b"runs/dump")
        clone = scene(workshop, b"elsewhere").root
        identity = workshop.host.identity(workshop.top + b"/copy")
        assert identity is not None
        root = type(clone)(
            root_id=made.root.root_id,
            name=made.root.name,
            host_id=1,
            path=workshop.top + b"/copy",
            filesystem_uuid=identity.filesystem_uuid,
            filesystem_type=made.root.filesystem_type,
            inode=identity.inode,
        )

        seen = workshop.host.observe(root, target, catalog_id=CATALOG_ID, catalog_epoch=CATALOG_EPOCH)

        assert seen.confinement.marker is MarkerState.CLONED

    def test_a_missing_marker_is_missing(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.remove(made.root.path + b"/.artifactctl/root.json")

        assert made.observe().confinement.marker is MarkerState.MISSING

    def test_a_garbled_marker_is_unreadable(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.write(made.root.path + b"/.artifactctl/root.json", b'{"root_id": ')

        assert made.observe().confinement.marker is MarkerState.UNREADABLE
