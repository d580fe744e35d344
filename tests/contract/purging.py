"""Contract: a purge removes what the manifest says and nothing else, and can be told to go on."""

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.protocol import PurgeResult
from tests.contract.workshop import Scene, Workshop, scene


def purge(made: Scene) -> PurgeResult:
    """Begin and run the purge of the scene's operation."""
    made.host.begin_purge(made.root, made.operation)
    return made.host.purge(made.root, made.operation)


def purging_path(made: Scene) -> bytes:
    """Return where the bytes are once the purge has begun."""
    return made.host.observe_quarantined(made.root, made.operation).path


class PurgeContract:
    """`begin_purge` and `purge`."""

    @pytest.mark.parametrize("single", [False, True], ids=["folder", "file"])
    def test_a_purge_removes_everything(self, workshop: Workshop, single: bool) -> None:
        made = scene(workshop).single_file() if single else scene(workshop).dump()
        placed = made.set_aside().placed

        result = purge(made)

        record = made.record()
        assert (result.complete, result.interrupted) == (True, False)
        assert (result.mismatched, result.errors) == ((), ())
        assert result.removed_files == (1 if single else 4)
        assert record.event is JournalEvent.PURGED
        assert (record.at_original, record.in_quarantine, record.in_purging) == (False, False, False)
        assert not workshop.exists(placed)

    def test_a_begun_purge_is_seen_in_the_journal_and_on_disk(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()

        made.host.begin_purge(made.root, made.operation)

        record = made.record()
        assert record.event is JournalEvent.PURGING
        assert (record.in_quarantine, record.in_purging, record.manifest_intact) == (False, True, True)

    def test_what_is_being_purged_can_still_be_observed(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = made.observe().tree
        made.set_aside().host.begin_purge(made.root, made.operation)

        seen = made.host.observe_quarantined(made.root, made.operation).tree

        assert before is not None
        assert seen is not None
        assert seen.fingerprint == before.fingerprint

    def test_nothing_is_purged_that_was_not_begun(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        before = workshop.tree(made.placed)

        with pytest.raises(HostFailure):
            made.host.purge(made.root, made.operation)

        assert workshop.tree(made.placed) == before

    def test_nothing_is_purged_that_was_not_set_aside(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()
        before = workshop.tree(made.path)

        with pytest.raises(HostFailure):
            made.host.begin_purge(made.root, made.operation)

        assert workshop.tree(made.path) == before
        assert not made.record().in_purging

    def test_a_second_purge_finds_it_done(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        purge(made)

        again = made.host.purge(made.root, made.operation)

        assert (again.complete, again.removed_files, again.mismatched) == (True, 0, ())

    @pytest.mark.parametrize(
        ("change", "named"),
        [("a stranger", b"rows/stranger"), ("new content", b"rows/shard-1"), ("another inode", b"rows/shard-1")],
    )
    def test_what_is_not_as_recorded_is_left_and_named(self, workshop: Workshop, change: str, named: bytes) -> None:
        made = scene(workshop).dump().set_aside()
        made.host.begin_purge(made.root, made.operation)
        path = purging_path(made) + b"/" + named
        if change == "another inode":
            workshop.remove(path)
        workshop.write(path, b"not what was recorded")

        result = made.host.purge(made.root, made.operation)

        assert not result.complete
        assert result.mismatched == (named,)
        assert workshop.read(path) == b"not what was recorded"
        assert made.record().event is JournalEvent.PURGING

    def test_a_purge_goes_on_when_the_stranger_has_gone(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        made.host.begin_purge(made.root, made.operation)
        stranger = purging_path(made) + b"/rows/stranger"
        workshop.write(stranger, b"x")
        made.host.purge(made.root, made.operation)
        workshop.remove(stranger)

        result = made.host.purge(made.root, made.operation)

        assert result.complete
        assert made.record().event is JournalEvent.PURGED

    def test_a_member_that_is_gone_already_counts_as_done(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        made.host.begin_purge(made.root, made.operation)
        workshop.remove(purging_path(made) + b"/rows/shard-0")

        result = made.host.purge(made.root, made.operation)

        assert (result.complete, result.removed_files) == (True, 3)

    def test_an_interrupted_purge_stops_and_goes_on(self, workshop: Workshop) -> None:
        made = scene(workshop).dump(shards=8).set_aside()
        made.host.begin_purge(made.root, made.operation)
        gone: list[int] = []

        first = made.host.purge(
            made.root,
            made.operation,
            files_per_second=10.0,
            should_stop=lambda: bool(gone),
            progress=lambda files, removed: gone.append(files),
        )
        second = made.host.purge(made.root, made.operation)

        assert (first.complete, first.interrupted) == (False, True)
        assert second.complete
        assert 0 < first.removed_files < 9
        assert first.removed_files + second.removed_files == 9

    def test_progress_grows_to_what_was_removed(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        made.host.begin_purge(made.root, made.operation)
        seen: list[tuple[int, int]] = []

        result = made.host.purge(
            made.root, made.operation, progress=lambda files, removed: seen.append((files, removed))
        )

        assert seen == sorted(seen)
        assert seen[-1][0] == result.removed_files
        assert 0 < seen[-1][1] <= result.removed_bytes

    def test_links_go_and_what_they_lead_to_stays(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.write(workshop.top + b"/precious/file", b"precious")
        workshop.symlink(workshop.top + b"/precious", made.path + b"/out")
        workshop.symlink(b"rows", made.path + b"/in")

        assert purge(made.set_aside()).complete

        assert workshop.read(workshop.top + b"/precious/file") == b"precious"

    def test_a_folder_exchanged_for_a_link_is_not_followed(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        workshop.write(workshop.top + b"/precious/shard-0", b"precious")
        made.host.begin_purge(made.root, made.operation)
        rows = purging_path(made) + b"/rows"
        workshop.rename(rows, workshop.top + b"/rows-elsewhere")
        workshop.symlink(workshop.top + b"/precious", rows)

        result = made.host.purge(made.root, made.operation)

        assert not result.complete
        assert b"rows" in result.mismatched
        assert workshop.read(workshop.top + b"/precious/shard-0") == b"precious"
        assert workshop.exists(workshop.top + b"/rows-elsewhere/shard-0")

    def test_a_purge_stops_when_its_lock_is_lost(self, workshop: Workshop) -> None:
        made = scene(workshop).dump(shards=60).set_aside()
        made.host.begin_purge(made.root, made.operation)
        lock = made.host.lock(made.root)
        lost: list[int] = []

        def lose_the_lock(files: int, removed: int) -> None:
            if not lost:
                workshop.take_lock_away(made.root)
            lost.append(files)

        result = made.host.purge(made.root, made.operation, files_per_second=60.0, progress=lose_the_lock)
        lock.release()

        assert not result.complete
        assert result.removed_files < 60

    def test_a_name_outside_keeps_the_file(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.link(made.path + b"/rows/shard-0", made.root.path + b"/kept")

        assert purge(made.set_aside()).complete

        assert workshop.read(made.root.path + b"/kept") == b"0" * 5000

    def test_a_file_with_two_names_inside_goes_whole(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.link(made.path + b"/rows/shard-0", made.path + b"/a-second-name")
        workshop.link(made.path + b"/rows/shard-0", made.path + b"/rows/z-third-name")

        result = purge(made.set_aside())

        assert (result.complete, result.mismatched) == (True, ())

    def test_names_that_are_no_text_go_too(self, workshop: Workshop) -> None:
        made = scene(workshop)
        for name in (b"caf\xe9", b"a\nb", b"\x1b[2J", b"-rf", b" ", b"n" * 255):
            workshop.write(made.path + b"/" + name + b"/" + name, b"x")

        assert purge(made.set_aside()).complete

    def test_a_tree_of_three_hundred_levels_goes(self, workshop: Workshop) -> None:
        made = scene(workshop)
        workshop.write(made.path + b"/d" * 300 + b"/file", b"x")

        assert purge(made.set_aside()).complete

    def test_empty_folders_go(self, workshop: Workshop) -> None:
        made = scene(workshop)
        workshop.folder(made.path + b"/empty/emptier")

        assert purge(made.set_aside()).complete

    def test_a_mount_that_came_into_quarantine_is_not_crossed(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.write(workshop.top + b"/precious/file", b"precious")
        workshop.folder(made.path + b"/rows/place")
        made.set_aside().host.begin_purge(made.root, made.operation)

        with workshop.bound(workshop.top + b"/precious", purging_path(made) + b"/rows/place"):
            result = made.host.purge(made.root, made.operation)

        assert not result.complete
        assert workshop.read(workshop.top + b"/precious/file") == b"precious"

    def test_an_immutable_member_is_an_error_and_the_rest_of_it_stays_purgeable(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        made.host.begin_purge(made.root, made.operation)
        path = purging_path(made) + b"/rows/shard-1"
        workshop.set_immutable(path, True)

        first = made.host.purge(made.root, made.operation)
        workshop.set_immutable(path, False)

        assert not first.complete
        assert first.errors or first.mismatched

    def test_what_a_purge_has_to_leave_is_named_with_its_place(self, workshop: Workshop) -> None:
        made = scene(workshop).dump().set_aside()
        made.host.begin_purge(made.root, made.operation)
        before = made.host.left_in_purge(made.root, made.operation)
        content = purging_path(made)
        workshop.write(content + b"/a-folder/of/somebody", b"theirs")
        workshop.write(content + b"/rows/shard-1", b"not what was recorded")
        workshop.write(content + b"/rows/shard-1x", b"late")
        made.host.purge(made.root, made.operation)

        left = made.host.left_in_purge(made.root, made.operation)

        assert (before.paths, before.count, before.problem) == ((), 0, "")
        assert left.paths == tuple(content + b"/" + name for name in (b"a-folder", b"rows/shard-1", b"rows/shard-1x"))
        assert (left.count, left.problem) == (3, "")
        workshop.remove(content + b"/a-folder")
        workshop.remove(content + b"/rows/shard-1")
        workshop.remove(content + b"/rows/shard-1x")
        assert made.host.left_in_purge(made.root, made.operation).count == 0
        assert made.host.purge(made.root, made.operation).complete
