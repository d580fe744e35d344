"""Contract: every user of a file or tree is seen, by whatever name and in whatever way it uses it."""

import pytest

from artifactctl.domain.observation import HolderKind
from tests.contract.workshop import Workshop, scene

OF_FOLDERS = frozenset({HolderKind.WORKING_DIRECTORY, HolderKind.ROOT_DIRECTORY})
LEASE_BLIND = OF_FOLDERS | {HolderKind.MOUNT}
"""Uses beside which the kernel grants a write lease."""


class HolderContract:
    """`holders`, and the same look inside `observe`."""

    def test_nobody_holds_a_fresh_tree_and_the_kernel_confirms_it(self, workshop: Workshop) -> None:
        made = scene(workshop).dump(shards=3)

        seen = workshop.host.holders(made.path)

        assert seen.holders == ()
        assert (seen.lease_candidates, seen.leases_granted) == (4, 4)
        assert seen.leases_settle_openers
        assert seen.processes_inspected > 0

    @pytest.mark.parametrize("kind", HolderKind, ids=str)
    def test_a_holder_is_seen_while_it_holds(self, workshop: Workshop, kind: HolderKind) -> None:
        if kind not in workshop.holder_kinds:
            pytest.skip(f"this workshop has no {kind}")
        made = scene(workshop).dump()
        relative = b"rows" if kind in OF_FOLDERS else b"rows/shard-0"
        workshop.write(made.path + b"/rows/shard-0", bytes(256 * 1024))

        with workshop.holding(kind, made.path + b"/" + relative):
            during = workshop.host.holders(made.path)
        after = workshop.host.holders(made.path)

        assert relative in {holder.path for holder in during.holders}
        assert kind in {holder.kind for holder in during.holders} or kind is HolderKind.KERNEL_LEASE
        if kind not in LEASE_BLIND:
            assert not during.leases_settle_openers
        assert after.holders == ()

    def test_a_holder_of_the_target_itself_has_the_empty_path(self, workshop: Workshop) -> None:
        made = scene(workshop).single_file()

        with workshop.holding(HolderKind.DESCRIPTOR, made.path):
            seen = workshop.host.holders(made.path)

        assert {holder.path for holder in seen.holders} == {b""}

    def test_a_holder_by_a_name_outside_is_seen(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.link(made.path + b"/rows/shard-0", made.root.path + b"/alias")

        with workshop.holding(HolderKind.DESCRIPTOR, made.root.path + b"/alias"):
            seen = workshop.host.holders(made.path)

        assert b"rows/shard-0" in {holder.path for holder in seen.holders}

    def test_a_holder_beside_the_target_is_none_of_ours(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.write(made.path + b"-2/file", b"x")

        with workshop.holding(HolderKind.DESCRIPTOR, made.path + b"-2/file"):
            assert workshop.host.holders(made.path).holders == ()

    def test_an_observation_has_the_same_holders(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()

        with workshop.holding(HolderKind.DESCRIPTOR, made.path + b"/config.json"):
            seen = made.observe().holders

        assert b"config.json" in {holder.path for holder in seen.holders}

    def test_a_holder_stays_visible_in_quarantine(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()

        with workshop.holding(HolderKind.DESCRIPTOR, made.path + b"/rows/shard-1"):
            made.set_aside()
            seen = workshop.host.observe_quarantined(made.root, made.operation)

        assert b"rows/shard-1" in {holder.path for holder in seen.holders.holders}

    def test_looking_changes_nothing(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = made.observe().tree

        workshop.host.holders(made.path)

        assert made.observe().tree == before
