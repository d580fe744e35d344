"""A copy to another root: faithful, verified by reading it back, and nothing before it is whole."""

import os

import pytest

from artifactctl.archiving.failures import NotAsCatalogued, NotCopiable, PlaceTaken, SourceChanged, UnfitDestination
from artifactctl.domain.artifacts import ReplicaState, VerifyLevel
from artifactctl.domain.errors import Busy
from artifactctl.domain.verification import Depth
from artifactctl.inventory.reserving import NoRoom, Promise, reserve
from tests.archiving.ground import NOON, Ground, picture


def test_a_copy_is_the_same_in_everything_that_is_content(ground: Ground) -> None:
    before = picture(ground.at(ground.near))

    made = ground.archive()

    assert made.is_verified
    assert picture(ground.at(ground.far)) == before
    assert picture(ground.at(ground.near)) == before
    assert os.stat(ground.at(ground.far, b"hidden/sparse")).st_blocks * 512 < 1_000_000


def test_it_counts_as_a_live_copy_verified_by_digests(ground: Ground) -> None:
    ground.archive()

    copy = ground.replica(ground.far)
    assert (copy.state, copy.verified_level) == (ReplicaState.LIVE, VerifyLevel.DIGESTS)
    assert copy.verified_fingerprint == copy.fingerprint != ""
    assert copy.member_digest == ground.replica(ground.near).member_digest
    assert ground.known().content_digest != ""
    assert ground.actions()[-3:] == ["archive.begin", "archive.done", "lease.release"]


def test_nothing_is_left_of_the_making(ground: Ground) -> None:
    ground.archive()

    assert ground.aside(ground.far) == []
    with ground.catalog.reading() as reading:
        assert reading.leases(NOON) == ()
        assert reading.reservations(NOON) == ()


def test_a_single_file_is_copied_as_well(ground: Ground) -> None:
    path = ground.at(ground.near, b"alone.bin")
    with open(path, "wb") as file:
        file.write(b"z" * 10_000)
    ground.register(b"alone.bin", name="alone")

    ground.archive("alone", to=os.fsdecode(ground.at(ground.far, b"new/folder/alone.bin")))

    assert (
        picture(ground.at(ground.far, b"new/folder"))[b"alone.bin"][1:] == picture(ground.near.path)[b"alone.bin"][1:]
    )


def test_the_digests_are_those_that_verify_would_store(ground: Ground) -> None:
    from artifactctl.inventory.verifying import verify

    ground.archive()
    stored = ground.known().content_digest
    members = Depth(level=VerifyLevel.MEMBERS)
    results = verify(ground.host, ground.catalog, "hidden", here=b"/", now=NOON, actor="alice", depth=members)
    assert [result.ok for result in results] == [True, True]
    assert ground.known().content_digest == stored


def test_the_only_other_root_is_meant_when_none_is_named(ground: Ground) -> None:
    assert ground.archive(to=None).destination.path == ground.at(ground.far)


def test_an_occupied_place_is_refused_and_left_alone(ground: Ground) -> None:
    os.mkdir(ground.at(ground.far))

    with pytest.raises(PlaceTaken, match="stands at"):
        ground.archive()

    assert os.listdir(ground.at(ground.far)) == []
    assert ground.aside(ground.far) == []


def test_a_place_in_the_original_is_refused(ground: Ground) -> None:
    with pytest.raises(UnfitDestination, match="in or around it"):
        ground.archive(to=os.fsdecode(ground.at(ground.near, b"hidden/copy")))


def test_a_place_taken_while_it_was_copied_is_never_replaced(ground: Ground) -> None:
    def occupy(size_bytes: int) -> None:
        os.makedirs(ground.at(ground.far), exist_ok=True)

    with pytest.raises(PlaceTaken, match="complete"):
        ground.archive(progress=occupy)

    assert os.listdir(ground.at(ground.far)) == []
    assert ground.replica(ground.far).state is ReplicaState.ARCHIVING
    os.rmdir(ground.at(ground.far))
    assert ground.archive().sent_bytes == 0
    assert picture(ground.at(ground.far)) == picture(ground.at(ground.near))


def test_what_is_not_as_catalogued_is_not_copied(ground: Ground) -> None:
    with open(ground.at(ground.near, b"hidden/more"), "wb") as file:
        file.write(b"stray")

    with pytest.raises(NotAsCatalogued, match="more"):
        ground.archive()


def test_bytes_that_are_not_those_whose_digest_was_stored_are_not_copied(ground: Ground) -> None:
    with ground.catalog.writing("alice", NOON) as writing:
        writing.set_digests(ground.known().artifact_id, [(b"rows/data_1.bin", bytes(32))])

    with pytest.raises(NotAsCatalogued, match="digest"):
        ground.archive()

    assert ground.replica(ground.far).state is ReplicaState.ARCHIVING


@pytest.mark.parametrize("target", [b"/etc/passwd", b"../elsewhere", b"rows/../../up"])
def test_a_link_that_leads_out_is_refused(ground: Ground, target: bytes) -> None:
    os.mkdir(ground.at(ground.near, b"linked"))
    os.symlink(target, ground.at(ground.near, b"linked/out"))
    ground.register(b"linked", name="linked")

    with pytest.raises(NotCopiable, match="leads out of it"):
        ground.archive("linked")


def test_what_changes_while_it_is_read_is_no_copy(ground: Ground) -> None:
    def change(size_bytes: int) -> None:
        with open(ground.at(ground.near, b"hidden/rows/data_1.bin"), "r+b") as file:
            file.write(b"other")

    with pytest.raises(SourceChanged):
        ground.archive(progress=change)

    assert not os.path.exists(ground.at(ground.far))


def test_what_somebody_writes_to_is_not_begun(ground: Ground) -> None:
    with open(ground.at(ground.near, b"hidden/rows/data_1.bin"), "r+b"), pytest.raises(SourceChanged, match="may be"):
        ground.archive()


def test_room_that_is_promised_to_others_is_not_taken(ground: Ground) -> None:
    usage = ground.host.usage(ground.far.path)
    acting = ground.work().acting()
    promise = Promise(
        path=usage.mount,
        reserved_bytes=max(1, usage.available_bytes - min(usage.size_bytes // 100, 64 << 30) - (1 << 20)),
        files=1,
        purpose="another run",
        expires_at=NOON.replace(year=2027),
    )
    reserve(ground.catalog, ground.host, promise, usage, acting=acting)

    with pytest.raises(NoRoom):
        ground.archive()

    assert ground.aside(ground.far) == []
    with ground.catalog.reading() as reading:
        assert reading.leases(NOON) == ()


def test_a_stopped_copy_goes_on_where_it_was(ground: Ground) -> None:
    stopped = ground.archive(should_stop=_after(3))
    assert not stopped.is_verified
    assert not os.path.exists(ground.at(ground.far))
    assert ground.replica(ground.far).state is ReplicaState.ARCHIVING

    made = ground.archive()

    assert made.is_verified
    assert made.sent_bytes > 0
    assert picture(ground.at(ground.far)) == picture(ground.at(ground.near))
    assert ground.aside(ground.far) == []
    assert ground.said[-1].startswith("going on with")


def test_what_was_copied_before_the_original_changed_is_not_gone_on_with(ground: Ground) -> None:
    ground.archive(should_stop=_after(3))
    os.chmod(ground.at(ground.near, b"hidden/rows/-rf"), 0o600)

    assert ground.archive().is_verified

    assert picture(ground.at(ground.far)) == picture(ground.at(ground.near))
    assert ground.said[-1].startswith("what an earlier run had copied is of no use")
    states = [r.state for r in ground.known().replicas if r.root.root_id == ground.far.root_id]
    assert states == [ReplicaState.GONE, ReplicaState.LIVE]


def test_a_copy_keeps_to_its_bandwidth(ground: Ground) -> None:
    slept: list[float] = []

    made = ground.archive(bandwidth_bytes=1_000_000, elapsed_clock=lambda: sum(slept), sleep=slept.append)

    assert made.seconds == pytest.approx(made.sent_bytes / 1_000_000, rel=0.01)


def _after(pieces: int):
    """Return a question that says yes after it was asked so often."""
    asked = iter(range(1_000_000))
    return lambda: next(asked) >= pieces


def test_a_copy_is_neither_begun_nor_put_in_place_while_another_machine_changes_the_root(ground: Ground) -> None:
    def take(size_bytes: int = 0) -> None:
        with ground.catalog.writing("bob", NOON) as writing:
            held = writing.root_lease(ground.far.root_id)
            if held is None or held.machine_id != "another-machine":
                writing.take_root(ground.far.root_id, machine_id="another-machine", above=0)

    def give_back() -> None:
        with ground.catalog.writing("bob", NOON) as writing:
            held = writing.root_lease(ground.far.root_id)
            assert held is not None
            writing.give_root_back(ground.far.root_id, held.fence)

    take()
    with pytest.raises(Busy, match="is changing the root `far` from another machine"):
        ground.archive()
    assert ground.aside(ground.far) == []
    give_back()
    with pytest.raises(Busy):
        ground.archive(progress=take)
    assert not os.path.exists(ground.at(ground.far))
    give_back()
    assert ground.archive().sent_bytes == 0
    assert ground.host.read_mirror(ground.far.path, "fence") is not None
