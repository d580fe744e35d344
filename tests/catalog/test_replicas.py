"""Copies: compare and set, generations, verification, drift."""

from datetime import timedelta

import pytest

from artifactctl.catalog import PathTaken, StateChanged, UnknownObject
from artifactctl.domain.artifacts import ReplicaState, VerifyLevel

LIVE, QUARANTINING, QUARANTINED = ReplicaState.LIVE, ReplicaState.QUARANTINING, ReplicaState.QUARANTINED
PURGING, RESTORING, GONE = ReplicaState.PURGING, ReplicaState.RESTORING, ReplicaState.GONE


def test_a_state_changes_only_from_an_expected_one(place, write):
    replica = place("a").replicas[0].replica_id
    with write() as writing:
        writing.change_state(replica, expected={LIVE}, to=QUARANTINING)

        with pytest.raises(StateChanged) as refusal:
            writing.change_state(replica, expected={LIVE}, to=QUARANTINING)

        assert writing.replica(replica).state is QUARANTINING
    assert "/data/a" in refusal.value.message
    assert "quarantining" in refusal.value.message


def test_gone_is_final(place, write):
    replica = place("a", state=GONE).replicas[0].replica_id

    with write() as writing, pytest.raises(StateChanged):
        writing.change_state(replica, expected=set(ReplicaState), to=LIVE)


@pytest.mark.parametrize(
    ("steps", "generation"),
    [
        ([QUARANTINING], 1),
        ([QUARANTINING, LIVE], 1),
        ([QUARANTINING, QUARANTINED], 2),
        ([QUARANTINING, QUARANTINED, RESTORING, LIVE], 3),
        ([QUARANTINING, QUARANTINED, PURGING, GONE], 2),
        ([ReplicaState.MISSING, LIVE], 1),
    ],
    ids=["begun", "put back", "set aside", "restored", "purged", "found again"],
)
def test_every_quarantine_and_every_return_raises_the_generation(place, write, steps, generation):
    replica = place("a").replicas[0].replica_id
    with write() as writing:
        for state in steps:
            writing.change_state(replica, expected=set(ReplicaState), to=state)

        assert writing.replica(replica).generation == generation


def test_a_copy_can_come_back_at_another_path(place, write):
    replica = place("a", state=QUARANTINED).replicas[0].replica_id
    with write() as writing:
        writing.change_state(replica, expected={QUARANTINED}, to=LIVE, relative=b"b/a")

        assert writing.artifact_at("root-1", b"b/a").name == "a"
        assert writing.artifact_at("root-1", b"a") is None


def test_two_artifacts_cannot_live_at_one_path(place, write):
    aside = place("a", state=QUARANTINED).replicas[0].replica_id
    place("new", relative=b"a")

    with pytest.raises(PathTaken, match="new"):
        place("newer", relative=b"a")
    with write() as writing, pytest.raises(PathTaken, match="new"):
        writing.change_state(aside, expected={QUARANTINED}, to=LIVE)


def test_a_path_of_the_same_name_below_another_folder_is_free(place):
    place("a")
    place("b/a")
    place("a/b")


def test_an_accepted_drift_replaces_what_was_known(place, write, noon):
    known = place("a").replicas[0]
    with write() as writing:
        changed = writing.record_replica(
            known.replica_id,
            files=4,
            apparent_bytes=2**43,
            allocated_bytes=2**43 + 4096,
            member_digest="m2",
            fingerprint="p2",
            observed_at=noon + timedelta(hours=1),
        )

    assert (changed.files, changed.apparent_bytes, changed.fingerprint) == (4, 2**43, "p2")
    assert changed.generation == known.generation


def test_a_failed_verification_takes_away_what_an_earlier_one_gave(place, write, noon):
    replica = place("a").replicas[0].replica_id
    with write() as writing:
        writing.set_verified(replica, VerifyLevel.HEADERS, "print-1", ok=True, at=noon)
        verified = writing.replica(replica)
        writing.set_verified(replica, VerifyLevel.MEMBERS, "print-2", ok=False, problems=["b.txt is missing"])
        failed = writing.replica(replica)
        history = writing.verifications(replica)

    assert (verified.verified_at, verified.verified_level, verified.verified_fingerprint) == (
        noon,
        VerifyLevel.HEADERS,
        "print-1",
    )
    assert (failed.verified_at, failed.verified_level, failed.verified_fingerprint) == (None, None, "")
    assert [(item.ok, item.problems) for item in history] == [(True, ()), (False, ("b.txt is missing",))]


def test_observations_are_kept_newest_first(place, write, noon):
    replica = place("a").replicas[0].replica_id
    with write() as writing:
        for hour in range(3):
            writing.record_sighting(replica, {"holders": hour}, observed_at=noon + timedelta(hours=hour))

        assert [item.summary for item in writing.sightings(replica, limit=2)] == ['{"holders":2}', '{"holders":1}']


def test_an_unknown_copy_is_an_error(write):
    with write() as writing:
        assert writing.replica(5) is None
        with pytest.raises(UnknownObject):
            writing.change_state(5, expected={LIVE}, to=GONE)
