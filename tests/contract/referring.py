"""Contract: every link that leads to a target from outside is found."""

import pytest

from artifactctl.domain.observation import Referrer
from tests.contract.workshop import Workshop, scene


class ReferrerContract:
    """`referrers`."""

    @pytest.mark.parametrize(
        ("place", "says"),
        [
            (b"latest", b"runs/dump"),
            (b"runs/latest", b"dump"),
            (b"runs/latest", b"./../runs//dump/"),
            (b"runs/best", b"dump/rows/shard-0"),
            (b"runs/gone", b"dump/rows/no-such-shard"),
        ],
        ids=["from above", "beside", "in a crooked way", "to a member", "to a member that is not there"],
    )
    def test_a_relative_link_is_a_referrer(self, workshop: Workshop, place: bytes, says: bytes) -> None:
        made = scene(workshop).dump()
        link = made.root.path + b"/" + place
        workshop.symlink(says, link)

        found, problems = workshop.host.referrers([made.root.path], [made.path])

        dangling = says.endswith(b"no-such-shard")
        assert (found, problems) == ((Referrer(link=link, target=made.path, is_dangling=dangling),), ())

    def test_an_absolute_link_from_another_root_is_a_referrer(self, workshop: Workshop) -> None:
        made, other = scene(workshop).dump(), scene(workshop, b"other")
        link = other.root.path + b"/runs/last.ckpt"
        workshop.symlink(made.path + b"/rows", link)

        found, _ = workshop.host.referrers([made.root.path, other.root.path], [made.path])

        assert found == (Referrer(link=link, target=made.path),)

    def test_a_link_to_a_link_is_a_referrer_too(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.symlink(b"runs/dump", made.root.path + b"/latest")
        workshop.symlink(b"latest", made.root.path + b"/current")

        found, _ = workshop.host.referrers([made.root.path], [made.path])

        assert {referrer.link for referrer in found} == {made.root.path + b"/latest", made.root.path + b"/current"}

    def test_a_link_through_a_linked_folder_is_a_referrer(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.symlink(b"runs", made.root.path + b"/all")
        workshop.symlink(b"all/dump", made.root.path + b"/current")

        found, _ = workshop.host.referrers([made.root.path], [made.path])

        assert made.root.path + b"/current" in {referrer.link for referrer in found}

    def test_links_inside_and_links_elsewhere_are_none(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.write(made.path + b"-2/file", b"x")
        workshop.symlink(b"rows/shard-0", made.path + b"/first")
        workshop.symlink(made.path, made.path + b"/self")
        workshop.symlink(b"dump-2", made.root.path + b"/runs/latest")
        workshop.symlink(b"nowhere", made.root.path + b"/dangling")
        workshop.symlink(b"circle", made.root.path + b"/circle")

        assert workshop.host.referrers([made.root.path], [made.path]) == ((), ())

    def test_each_target_has_its_own_referrers(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.write(made.path + b"-2/file", b"x")
        workshop.symlink(b"dump", made.root.path + b"/runs/one")
        workshop.symlink(b"dump-2", made.root.path + b"/runs/two")

        found, _ = workshop.host.referrers([made.root.path], [made.path, made.path + b"-2"])

        assert {(referrer.link, referrer.target) for referrer in found} == {
            (made.root.path + b"/runs/one", made.path),
            (made.root.path + b"/runs/two", made.path + b"-2"),
        }

    def test_links_in_what_was_set_aside_beside_its_place_lead_nowhere(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.write(made.root.path + b"/kept/shard", b"x")
        workshop.symlink(made.root.path + b"/kept", made.path + b"/latest")
        made.intend(sibling=True)
        assert made.host.set_aside(made.root, made.operation) == "done"

        found, problems = workshop.host.referrers([made.root.path], [made.root.path + b"/kept"])

        assert (found, problems) == ((), ())

    @pytest.mark.parametrize("kind", ["bind", "volume"])
    def test_what_is_mounted_below_a_root_is_searched_and_keeps_nobody_else(
        self, workshop: Workshop, kind: str
    ) -> None:
        made = scene(workshop).dump()
        workshop.write(made.root.path + b"/mounted/below", b"x")
        workshop.folder(workshop.top + b"/elsewhere/deep")
        workshop.symlink(b"../../runs/dump", workshop.top + b"/elsewhere/deep/latest")
        place = made.root.path + b"/mounted"
        bound = workshop.bound(workshop.top + b"/elsewhere", place) if kind == "bind" else workshop.other_volume(place)

        with bound:
            if kind == "volume":
                workshop.folder(place + b"/deep")
                workshop.symlink(made.path, place + b"/deep/latest")
            found, problems = workshop.host.referrers([made.root.path], [made.path, made.root.path + b"/runs/other"])

        assert [(each.link, each.target) for each in found] == [(place + b"/deep/latest", made.path)]
        assert problems == ()
