"""Contract: the look at content sees what `observe` sees of it, and who could be changing it."""

import pytest

from artifactctl.domain.observation import HolderKind
from tests.contract.workshop import Workshop, scene


class ContentLookContract:
    """`contents`."""

    @pytest.mark.parametrize("single", [False, True], ids=["folder", "file"])
    def test_its_digests_are_those_of_a_whole_observation(self, workshop: Workshop, single: bool) -> None:
        made = scene(workshop).single_file() if single else scene(workshop).dump()

        seen, tree = made.host.contents(made.root, made.target), made.observe().tree

        assert tree is not None
        assert (seen.fingerprint, seen.member_digest) == (tree.fingerprint, tree.member_digest)
        assert (seen.is_there, seen.is_directory, seen.path, seen.problems) == (True, not single, made.path, ())

    def test_nothing_there_is_said(self, workshop: Workshop) -> None:
        made = scene(workshop)

        seen = made.host.contents(made.root, made.target)

        assert (seen.is_there, seen.fingerprint, seen.problems) == (False, "", ())

    @pytest.mark.parametrize("kind", [HolderKind.DESCRIPTOR, HolderKind.MAPPING])
    def test_who_only_reads_does_not_count(self, workshop: Workshop, kind: HolderKind) -> None:
        made = scene(workshop).dump()

        with workshop.holding(kind, made.path + b"/rows/shard-0"):
            report = made.host.contents(made.root, made.target).writers

        assert report.holders == ()
        assert (report.leases_granted, report.lease_candidates) == (4, 4)

    @pytest.mark.parametrize("mapped", [False, True], ids=["descriptor", "shared mapping"])
    def test_who_could_write_is_named(self, workshop: Workshop, mapped: bool) -> None:
        made = scene(workshop).dump()

        with workshop.writing(made.path + b"/rows/shard-0", mapped=mapped):
            report = made.host.contents(made.root, made.target).writers
        after = made.host.contents(made.root, made.target).writers

        kind = HolderKind.MAPPING if mapped else HolderKind.DESCRIPTOR
        ((found_kind, path, pid),) = [(holder.kind, holder.path, holder.pid) for holder in report.holders]
        assert (found_kind, path, pid is not None) == (kind, b"rows/shard-0", True)
        assert not report.leases_settle_openers
        assert after.holders == ()
