"""Leases, holds and reservations: in force until their end, and over for good after it."""

from datetime import timedelta

import pytest

from artifactctl.catalog import LeaseLost, StateChanged, UnknownObject
from artifactctl.domain.artifacts import ReplicaState

HOUR = timedelta(hours=1)


def lease(writing, artifact_id, noon, *, hours=1, owner="owner-1"):
    return writing.grant_lease(
        artifact_id,
        owner=owner,
        host="gpu-1",
        pid=411,
        pid_started="77",
        command="train.py",
        expires_at=noon + hours * HOUR,
    )


def test_a_lease_is_in_force_until_it_expires(place, write, noon):
    artifact = place("a").artifact_id
    with write() as writing:
        granted = lease(writing, artifact, noon)

        assert writing.leases(noon) == (granted,)
        assert writing.leases(noon + HOUR - timedelta(microseconds=1)) == (granted,)
        assert writing.leases(noon + HOUR) == ()
        assert writing.leases(noon, artifact_ids=[artifact]) == (granted,)
        assert writing.leases(noon, artifact_ids=[]) == ()
    assert (granted.artifact_name, granted.pid, granted.command, granted.granted_at) == ("a", 411, "train.py", noon)


def test_every_lease_has_a_higher_fence_also_after_releases(place, write, noon):
    artifact = place("a").artifact_id
    with write() as writing:
        first = lease(writing, artifact, noon)
        writing.release_lease(first.lease_id, owner="owner-1")
        second = lease(writing, artifact, noon)

    assert second.fence > first.fence
    assert second.lease_id != first.lease_id


@pytest.mark.parametrize(
    "state",
    [state for state in ReplicaState if state not in (ReplicaState.LIVE, ReplicaState.BUILDING)],
    ids=lambda state: state.value,
)
def test_what_is_not_there_cannot_be_leased(place, write, noon, state):
    artifact = place("a", state=state).artifact_id

    with write() as writing, pytest.raises(StateChanged, match=state.value):
        lease(writing, artifact, noon)


def test_a_lease_is_extended_only_by_its_owner_and_only_in_time(place, catalog, noon):
    artifact = place("a").artifact_id
    with catalog.writing("ada", noon) as writing:
        lease_id = lease(writing, artifact, noon).lease_id
        longer = writing.renew_lease(lease_id, owner="owner-1", expires_at=noon + 2 * HOUR)
        same = writing.renew_lease(lease_id, owner="owner-1", expires_at=noon + HOUR)

        assert longer.expires_at == same.expires_at == noon + 2 * HOUR
        with pytest.raises(LeaseLost):
            writing.renew_lease(lease_id, owner="somebody", expires_at=noon + 3 * HOUR)
        with pytest.raises(LeaseLost):
            writing.release_lease(lease_id, owner="somebody")
        with pytest.raises(UnknownObject):
            writing.renew_lease("no such", owner="owner-1", expires_at=noon)

    with catalog.writing("ada", noon + 2 * HOUR) as writing, pytest.raises(LeaseLost):
        writing.renew_lease(lease_id, owner="owner-1", expires_at=noon + 9 * HOUR)


def test_a_broken_lease_is_over_for_its_holder(place, write, noon):
    artifact = place("a").artifact_id
    with write() as writing:
        lease_id = lease(writing, artifact, noon).lease_id
        writing.break_lease(lease_id, reason="host was scrapped")

        assert writing.leases(noon) == ()
        with pytest.raises(LeaseLost):
            writing.renew_lease(lease_id, owner="owner-1", expires_at=noon + HOUR)
        with pytest.raises(StateChanged):
            writing.break_lease(lease_id, reason="again")
        writing.release_lease(lease_id, owner="owner-1")
        assert writing.lease(lease_id).artifact_name == "a"


def test_a_hold_stays_until_it_is_released_even_past_its_review(place, catalog, noon):
    artifact = place("a").artifact_id
    with catalog.writing("ada", noon) as writing:
        hold = writing.place_hold(artifact, reason="paper under review", until=noon + HOUR)

    with catalog.writing("bob", noon + 100 * HOUR) as writing:
        assert writing.holds() == (hold,)
        assert writing.holds(artifact_ids={artifact}) == (hold,)
        assert writing.holds(artifact_ids=()) == ()
        writing.release_hold(hold.hold_id, reason="accepted")

        assert writing.holds() == ()
        with pytest.raises(StateChanged):
            writing.release_hold(hold.hold_id, reason="again")
        with pytest.raises(UnknownObject):
            writing.release_hold(99, reason="never placed")
    assert (hold.actor, hold.reason, hold.artifact_name) == ("ada", "paper under review", "a")


def test_a_reservation_counts_until_it_is_released_or_expires(write, noon):
    with write() as writing:
        made = writing.reserve(
            "uuid-1",
            host_id=1,
            path=b"/data/new\xff",
            reserved_bytes=3_776_102_400_000,
            purpose="extraction of v2",
            expires_at=noon + HOUR,
        )
        writing.fill_reservation(made.reservation_id, filled_bytes=2**41)
        (filled,) = writing.reservations(noon, filesystem_uuid="uuid-1")

        assert (filled.reserved_bytes, filled.filled_bytes) == (3_776_102_400_000, 2**41)
        assert filled.path == b"/data/new\xff"
        assert writing.reservations(noon, filesystem_uuid="uuid-2") == ()
        assert writing.reservations(noon + HOUR) == ()
        writing.release_reservation(made.reservation_id)
        assert writing.reservations(noon) == ()
        with pytest.raises(StateChanged):
            writing.release_reservation(made.reservation_id)
        with pytest.raises(UnknownObject):
            writing.release_reservation("no such")
