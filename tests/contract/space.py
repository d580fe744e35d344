"""Contract: the arithmetic of space, and acting on a disk that has none left."""

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.hosts.protocol import PutBack
from tests.contract.purging import purge
from tests.contract.workshop import Workshop, scene

MIB = 1024 * 1024
SLACK_BYTES = 512 * 1024
"""What a root's own folder and the filesystem's own records may take or give back meanwhile."""


class SpaceContract:
    """`usage`, `mounts`, `settle`."""

    def test_the_figures_of_a_volume_belong_together(self, workshop: Workshop) -> None:
        usage = workshop.host.usage(workshop.top)

        assert 0 < usage.available_bytes <= usage.free_bytes <= usage.size_bytes
        assert usage.used_bytes <= usage.size_bytes - usage.free_bytes
        assert usage.block_bytes > 0
        assert not usage.read_only

    def test_a_volume_is_among_the_mounts(self, workshop: Workshop) -> None:
        usage = workshop.host.usage(workshop.top)

        found = [mount for mount in workshop.host.mounts() if mount.mount == usage.mount]

        assert [mount.filesystem_uuid for mount in found] == [usage.filesystem_uuid]

    def test_a_path_below_has_the_usage_of_its_volume(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()

        below, above = workshop.host.usage(made.path), workshop.host.usage(workshop.top)

        assert (below.mount, below.filesystem_uuid) == (above.mount, above.filesystem_uuid)

    def test_nothing_there_has_no_usage(self, workshop: Workshop) -> None:
        with pytest.raises(HostFailure):
            workshop.host.usage(workshop.top + b"/absent")

    def test_a_purge_frees_what_was_predicted(self, workshop: Workshop) -> None:
        made = scene(workshop)
        for number in range(8):
            workshop.write(made.path + b"/shard-%d" % number, b"\1" * MIB)
        workshop.host.settle(workshop.top, target_available_bytes=None, deadline_seconds=1)
        predicted = made.observe().tree
        assert predicted is not None
        made.set_aside()
        before = workshop.host.usage(workshop.top).available_bytes

        result = purge(made)
        wanted = before + predicted.exclusive_bytes - SLACK_BYTES
        after = workshop.host.settle(workshop.top, target_available_bytes=wanted, deadline_seconds=5)

        assert result.removed_bytes == pytest.approx(predicted.exclusive_bytes, abs=SLACK_BYTES)
        assert after.available_bytes - before == pytest.approx(predicted.exclusive_bytes, abs=SLACK_BYTES)

    def test_a_quarantine_frees_nothing(self, workshop: Workshop) -> None:
        made = scene(workshop)
        workshop.write(made.path + b"/shard", b"\1" * 8 * MIB)
        workshop.host.settle(workshop.top, target_available_bytes=None, deadline_seconds=1)
        before = workshop.host.usage(workshop.top).available_bytes

        made.set_aside()
        after = workshop.host.settle(workshop.top, target_available_bytes=None, deadline_seconds=1)

        assert after.available_bytes - before < MIB

    def test_a_purge_with_a_name_outside_frees_nothing_of_it(self, workshop: Workshop) -> None:
        made = scene(workshop)
        workshop.write(made.path + b"/shard", b"\1" * 8 * MIB)
        workshop.link(made.path + b"/shard", made.root.path + b"/kept")
        predicted = made.observe().tree
        before = workshop.host.settle(workshop.top, target_available_bytes=None, deadline_seconds=1).available_bytes
        assert predicted is not None

        result = purge(made.set_aside())
        after = workshop.host.settle(workshop.top, target_available_bytes=None, deadline_seconds=1).available_bytes

        assert predicted.exclusive_bytes < MIB
        assert result.removed_bytes < MIB
        assert after - before < MIB

    def test_settling_for_what_never_comes_ends_with_the_truth(self, workshop: Workshop) -> None:
        usage = workshop.host.settle(workshop.top, target_available_bytes=1 << 60, deadline_seconds=0.2)

        assert 0 < usage.available_bytes < 1 << 60

    def test_a_full_disk_can_be_emptied(self, workshop: Workshop) -> None:
        made = scene(workshop)
        for number in range(20):
            workshop.write(made.path + b"/shard-%d" % number, b"\1" * 100_000)
        workshop.fill()

        lock = workshop.host.lock(made.root)
        made.set_aside()
        workshop.host.mirror(made.root.path, "holds", b"[]")
        result = purge(made)
        lock.release()

        assert result.complete

    def test_on_a_full_disk_a_restore_works(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        before = workshop.tree(made.path)
        workshop.fill()
        made.set_aside()

        assert made.host.put_back(made.root, made.operation, to=None, reason="needed") is PutBack.DONE
        assert workshop.tree(made.path) == before
