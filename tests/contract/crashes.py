"""Contract: killed anywhere inside a step, the root says truly where the bytes are, and the step can be repeated."""

from collections.abc import Callable

import pytest

from artifactctl.domain.operations import JournalEvent, OperationRecord
from artifactctl.hosts.protocol import PutBack, SetAside
from tests.contract.workshop import Scene, Tree, Workshop, scene


def places(record: OperationRecord) -> list[str]:
    """Return where the recorded bytes are, as `operations` says."""
    return [
        name
        for name, found in [
            ("original", record.original_matches),
            ("quarantine", record.in_quarantine and record.quarantine_matches),
            ("purging", record.in_purging),
        ]
        if found
    ]


def run_kills(
    workshop: Workshop, verb: str, prepare: Callable[[Scene], object], act: Callable[[Scene], object]
) -> list[tuple[Scene, Tree, bool]]:
    """Return for each point a scene of its own in which `act` was killed there (True) or went through (False)."""
    ended = []
    for number, point in enumerate(workshop.kill_points(verb)):
        made = scene(workshop, b"root-%d" % number).dump()
        before = workshop.tree(made.path)
        prepare(made)
        killed = workshop.killed_at(point, lambda made=made: act(made))  # type: ignore[misc]
        ended.append((made, before, killed))
    assert any(killed for _, _, killed in ended), "no point killed anything: the test would prove nothing"
    return ended


def nothing(made: Scene) -> None:
    """Prepare nothing."""


class CrashContract:
    """`intend`, `set_aside`, `put_back`, `begin_purge`, `purge` killed at every point."""

    def test_a_killed_intent_leaves_the_target_and_can_be_made_under_another_name(self, workshop: Workshop) -> None:
        for made, before, _ in run_kills(workshop, "intend", nothing, lambda made: made.intend()):
            known = workshop.host.operations(made.root)

            assert [record.event for record in known] in ([], [JournalEvent.INTENDED])
            assert workshop.tree(made.path) == before
            for record in known:
                assert places(record) == ["original"]
                assert record.manifest_intact
                workshop.host.abandon(made.root, record.operation, "killed")
            made.operation = "operation-2"
            made.set_aside()

    def test_a_killed_rename_happened_or_did_not(self, workshop: Workshop) -> None:
        def act(made: Scene) -> object:
            return workshop.host.set_aside(made.root, made.operation)

        for made, before, killed in run_kills(workshop, "set_aside", lambda made: made.intend(), act):
            record = made.record()

            assert record.event in (JournalEvent.INTENDED, JournalEvent.RENAMED)
            assert places(record) in (["original"], ["quarantine"])
            assert record.event is JournalEvent.INTENDED or places(record) == ["quarantine"]
            assert workshop.tree(made.path if places(record) == ["original"] else made.placed) == before
            assert record.manifest_intact
            assert killed or record.event is JournalEvent.RENAMED

    def test_after_a_killed_rename_the_target_can_be_put_back(self, workshop: Workshop) -> None:
        def act(made: Scene) -> object:
            return workshop.host.set_aside(made.root, made.operation)

        for made, before, _ in run_kills(workshop, "set_aside", lambda made: made.intend(), act):
            if made.record().in_quarantine:
                outcome = workshop.host.put_back(made.root, made.operation, to=None, reason="recovery")
                assert outcome is PutBack.DONE
            else:
                workshop.host.abandon(made.root, made.operation, "recovery")

            assert workshop.tree(made.path) == before
            assert places(made.record()) == ["original"]
            assert made.record().event in (JournalEvent.RESTORED, JournalEvent.ABANDONED)

    def test_a_killed_rename_can_be_repeated(self, workshop: Workshop) -> None:
        def act(made: Scene) -> SetAside:
            return workshop.host.set_aside(made.root, made.operation)

        for made, before, _ in run_kills(workshop, "set_aside", lambda made: made.intend(), act):
            if made.record().event is JournalEvent.INTENDED:
                assert act(made) is SetAside.DONE

            assert made.record().event is JournalEvent.RENAMED
            assert workshop.tree(made.placed) == before

    @pytest.mark.parametrize("to", [None, b"runs/rescued"], ids=["home", "elsewhere"])
    def test_a_killed_restore_can_be_repeated(self, workshop: Workshop, to: bytes | None) -> None:
        def act(made: Scene) -> PutBack:
            destination = made.at(to) if to else None
            return workshop.host.put_back(made.root, made.operation, to=destination, reason="needed")

        for made, before, killed in run_kills(workshop, "put_back", lambda made: made.set_aside(), act):
            destination = made.root.path + b"/" + (to or b"runs/dump")
            record = made.record()
            assert workshop.tree(made.placed if record.in_quarantine else destination) == before
            if killed and record.event is not JournalEvent.RESTORED:
                assert act(made) is PutBack.DONE

            assert workshop.tree(destination) == before
            assert made.record().event is JournalEvent.RESTORED
            assert not made.record().in_quarantine

    def test_a_killed_start_of_a_purge_can_be_repeated_or_undone(self, workshop: Workshop) -> None:
        def act(made: Scene) -> None:
            workshop.host.begin_purge(made.root, made.operation)

        for made, before, _ in run_kills(workshop, "begin_purge", lambda made: made.set_aside(), act):
            record = made.record()
            assert places(record) in (["quarantine"], ["purging"])
            if places(record) == ["quarantine"]:
                assert workshop.host.put_back(made.root, made.operation, to=None, reason="no") is PutBack.DONE
                assert workshop.tree(made.path) == before
                continue
            assert workshop.host.put_back(made.root, made.operation, to=None, reason="no") is PutBack.PURGING
            workshop.host.begin_purge(made.root, made.operation)

            assert made.record().event is JournalEvent.PURGING
            assert workshop.host.purge(made.root, made.operation).complete

    def test_a_killed_purge_goes_on_to_its_end_and_never_back(self, workshop: Workshop) -> None:
        def prepare(made: Scene) -> None:
            workshop.link(made.path + b"/rows/shard-0", made.path + b"/rows/twin")
            workshop.symlink(b"rows", made.path + b"/latest")
            made.set_aside()
            workshop.host.begin_purge(made.root, made.operation)

        def act(made: Scene) -> object:
            return workshop.host.purge(made.root, made.operation)

        for made, _, _ in run_kills(workshop, "purge", prepare, act):
            record = made.record()
            assert record.event in (JournalEvent.PURGING, JournalEvent.PURGED)
            assert not record.in_quarantine
            assert not record.at_original
            assert workshop.host.put_back(made.root, made.operation, to=None, reason="no") is PutBack.PURGING

            result = workshop.host.purge(made.root, made.operation)

            assert (result.complete, result.mismatched, result.errors) == (True, (), ())
            assert made.record().event is JournalEvent.PURGED
            assert not made.record().in_purging

    def test_a_lock_dies_with_its_holder(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        made.intend()

        def act() -> None:
            workshop.host.lock(made.root)
            workshop.host.set_aside(made.root, made.operation)

        killed = workshop.killed_at(workshop.kill_points("set_aside")[1], act)

        assert killed
        workshop.host.lock(made.root).release()
