"""Contract: what makes an inode the same thing at two looks."""

from datetime import timedelta

from tests.contract.workshop import Workshop, scene


class IdentityContract:
    """`identify`, `now`, `identity`, `resolve`."""

    def test_a_machine_says_who_it_is_and_stays_it(self, workshop: Workshop) -> None:
        first, second = workshop.host.identify(), workshop.host.identify()

        assert first == second
        assert first.machine_id
        assert first.boot_id

    def test_the_clock_is_aware_utc(self, workshop: Workshop) -> None:
        assert workshop.host.now().utcoffset() == timedelta(0)

    def test_the_uptime_is_of_this_boot_and_grows(self, workshop: Workshop) -> None:
        first, identity = workshop.host.uptime(), workshop.host.identify()
        second = workshop.host.uptime()

        assert (first.machine_id, first.boot_id) == (identity.machine_id, identity.boot_id)
        assert timedelta(0) < first.since_boot <= second.since_boot

    def test_nothing_has_no_identity(self, workshop: Workshop) -> None:
        assert workshop.host.identity(workshop.top + b"/absent") is None
        assert workshop.host.identity(workshop.top + b"/absent/below") is None

    def test_a_path_below_a_file_has_no_identity(self, workshop: Workshop) -> None:
        workshop.write(workshop.top + b"/file", b"x")

        assert workshop.host.identity(workshop.top + b"/file/below") is None

    def test_a_rename_keeps_the_identity_of_file_and_folder(self, workshop: Workshop) -> None:
        for name in (b"/file", b"/folder"):
            workshop.write(workshop.top + b"/file", b"x") if name == b"/file" else workshop.folder(workshop.top + name)
            before = workshop.host.identity(workshop.top + name)

            workshop.rename(workshop.top + name, workshop.top + name + b"-moved")

            assert workshop.host.identity(workshop.top + name + b"-moved") == before

    def test_new_content_keeps_the_identity(self, workshop: Workshop) -> None:
        path = workshop.top + b"/file"
        workshop.write(path, b"old")
        before = workshop.host.identity(path)

        workshop.write(path, b"new and longer")

        assert workshop.host.identity(path) == before

    def test_a_hard_link_has_the_identity_of_the_file(self, workshop: Workshop) -> None:
        path = workshop.top + b"/file"
        workshop.write(path, b"x")
        workshop.link(path, path + b"-too")

        assert workshop.host.identity(path) == workshop.host.identity(path + b"-too")

    def test_a_file_made_again_at_the_same_path_is_another(self, workshop: Workshop) -> None:
        path = workshop.top + b"/file"
        workshop.write(path, b"x")
        before = workshop.host.identity(path)

        workshop.remove(path)
        workshop.write(path, b"x")

        assert workshop.host.identity(path) != before

    def test_a_link_has_its_own_identity(self, workshop: Workshop) -> None:
        workshop.write(workshop.top + b"/file", b"x")
        workshop.symlink(b"file", workshop.top + b"/link")

        identity = workshop.host.identity(workshop.top + b"/link")

        assert identity is not None
        assert identity != workshop.host.identity(workshop.top + b"/file")

    def test_a_dangling_link_has_an_identity(self, workshop: Workshop) -> None:
        workshop.symlink(b"nowhere", workshop.top + b"/link")

        assert workshop.host.identity(workshop.top + b"/link") is not None

    def test_identity_and_usage_name_the_same_filesystem(self, workshop: Workshop) -> None:
        identity = workshop.host.identity(workshop.top)

        assert identity is not None
        assert identity.filesystem_uuid == workshop.host.usage(workshop.top).filesystem_uuid

    def test_another_volume_is_another_filesystem(self, workshop: Workshop) -> None:
        workshop.folder(workshop.top + b"/other")

        with workshop.other_volume(workshop.top + b"/other"):
            inner = workshop.host.identity(workshop.top + b"/other")
            outer = workshop.host.identity(workshop.top)

        assert inner is not None
        assert outer is not None
        assert inner.filesystem_uuid != outer.filesystem_uuid

    def test_resolving_normalises_without_following(self, workshop: Workshop) -> None:
        made = scene(workshop).dump()
        workshop.symlink(b"runs", made.root.path + b"/latest")

        plain = workshop.host.resolve(made.root.path + b"/runs/./dump/../dump")
        linked = workshop.host.resolve(made.root.path + b"/latest/dump")

        assert plain == (made.path, None)
        assert linked == (made.root.path + b"/latest/dump", made.root.path + b"/latest")

    def test_resolving_names_a_link_at_the_end_too(self, workshop: Workshop) -> None:
        workshop.symlink(b"nowhere", workshop.top + b"/link")

        assert workshop.host.resolve(workshop.top + b"/link") == (workshop.top + b"/link", workshop.top + b"/link")
