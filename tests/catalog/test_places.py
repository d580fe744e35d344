"""Machines, volumes and managed roots."""

from dataclasses import replace

import pytest

from artifactctl.catalog import NameTaken, StateChanged, UnknownObject
from artifactctl.domain.ledger import KnownVolume
from artifactctl.domain.operations import JournalEvent


def test_a_root_is_found_by_name_id_and_filesystem(catalog):
    with catalog.reading() as reading:
        (root,) = reading.roots()

        assert reading.root("data") == reading.root("root-1") == root
        assert reading.roots_on("uuid-1") == (root,)
        assert reading.roots_on("uuid-2") == ()
        assert reading.root("nothing") is None


def test_the_id_of_a_root_counts_before_the_name_of_another(catalog, write):
    with write() as writing:
        (root,) = writing.roots()
        writing.add_root(replace(root, root_id="root-2", name="root-1", path=b"/other"))

        found = writing.root("root-1")

    assert found is not None
    assert found.path == b"/data"


def test_two_roots_in_use_cannot_share_a_name_or_an_id(write):
    with write() as writing:
        (root,) = writing.roots()

        with pytest.raises(NameTaken):
            writing.add_root(replace(root, root_id="root-2"))
        with pytest.raises(NameTaken):
            writing.add_root(replace(root, name="other"))


def test_a_forgotten_root_can_come_back_and_its_tombstones_stay_readable(place, write):
    place("corpus")
    with write() as writing:
        (root,) = writing.roots()
        writing.forget_root("root-1")

        assert writing.roots() == ()
        (corpus,) = writing.artifacts()
        assert corpus.replicas[0].root == replace(root, is_managed=False)

        writing.add_root(replace(root, path=b"/mnt/data", inode=5))
        found = writing.root("data")

    assert found == replace(root, path=b"/mnt/data", inode=5)


def test_a_root_with_an_unfinished_operation_cannot_be_forgotten(place, write):
    corpus = place("corpus")
    with write() as writing:
        writing.add_operation("op-1", corpus.replicas[0].replica_id)

        with pytest.raises(StateChanged, match="op-1"):
            writing.forget_root("root-1")

        writing.update_operation("op-1", state=JournalEvent.RESTORED)
        writing.forget_root("root-1")


def test_forgetting_what_is_not_there_is_an_error(write):
    with write() as writing, pytest.raises(UnknownObject):
        writing.forget_root("root-9")


def test_a_volume_is_replaced_by_how_it_was_seen_last(write, noon):
    with write() as writing:
        seen = KnownVolume(
            filesystem_uuid="uuid-1",
            host_id=1,
            mount=b"/da\xffta",
            filesystem_type="xfs",
            device="/dev/sdb",
            size_bytes=12 * 10**12,
            seen_at=noon,
        )
        writing.record_volume(seen)
        writing.record_volume(replace(seen, size_bytes=13 * 10**12))

        assert writing.volumes() == (replace(seen, size_bytes=13 * 10**12),)


def test_a_machine_is_found_by_name_and_number(write):
    with write() as writing:
        added = writing.add_host("there", machine_id="m-2", address="ssh://ada@there", host_key="SHA256:x")

        assert writing.host("there") == writing.host(added.host_id) == added
        assert [host.name for host in writing.hosts()] == ["here", "there"]
        with pytest.raises(NameTaken):
            writing.add_host("there", machine_id="m-3")


def test_a_forgotten_machine_is_not_worked_with_and_stays_on_record(write):
    with write() as writing:
        added = writing.add_host("gpu9", machine_id="m-9", address="ssh://gpu9", host_key="ssh-ed25519 AAAA")
        writing.forget_host(added.host_id)

        assert (writing.host("gpu9"), added.name in {known.name for known in writing.hosts()}) == (None, False)
        assert writing.host(added.host_id).forgotten_at == writing.now
        with pytest.raises(NameTaken, match="there was a host named gpu9"):
            writing.add_host("gpu9", machine_id="m-10", address="ssh://gpu10", host_key="ssh-ed25519 BBBB")

        back = writing.remember_host(added.host_id, address="ssh://gpu9.example", uses_sudo=True)

        assert writing.host("gpu9") == back
        assert (back.address, back.machine_id) == ("ssh://gpu9.example", "m-9")


def test_a_machine_with_a_root_in_use_is_never_forgotten(write):
    with write() as writing:
        (root,) = writing.roots()

        with pytest.raises(StateChanged, match="has the root data"):
            writing.forget_host(root.host_id)
