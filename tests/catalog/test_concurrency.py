"""Several at once: writers take turns, readers see one state and are in nobody's way."""

import subprocess
import sys
import time

import pytest

from artifactctl import audit
from artifactctl.catalog import StateChanged, open_catalog
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.audit import AuditAction, AuditEntry
from artifactctl.domain.errors import Busy, ExitCode
from tests.bench.postgres import PASSWORD

_WRITER = """
import datetime, sys
from artifactctl import audit
from artifactctl.catalog import open_catalog
from artifactctl.domain.audit import AuditAction, AuditEntry

location, actor, artifact, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
noon = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
catalog = open_catalog(location, now=noon)
for number in range(count):
    with catalog.writing(actor, noon) as writing:
        writing.add_measurement(artifact, actor, number)
        audit.append(writing.connection, AuditEntry(at=noon, actor=actor, host="here", action=AuditAction.RUN_RECORD))
catalog.close()
"""


def test_two_processes_that_write_at_once_lose_nothing(place, catalog, catalog_address):
    artifact = place("a").artifact_id
    with catalog.reading() as reading:
        before = reading.revision()

    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, catalog_address, actor, str(artifact), "40"])
        for actor in ("ada", "bob")
    ]
    endings = [writer.wait(timeout=120) for writer in writers]

    with catalog.reading() as reading:
        found = [item.metric for item in reading.measurements(artifact)]
        verified = audit.verify(reading.connection)
        after = reading.revision()
    assert endings == [0, 0]
    assert (found.count("ada"), found.count("bob")) == (40, 40)
    assert (verified.ok, verified.events) == (True, 80)
    assert after == before + 80


def test_a_reader_sees_one_state_while_a_writer_commits(place, catalog, noon):
    artifact = place("a").artifact_id

    with catalog.reading() as reading:
        before = reading.revision()
        started = time.monotonic()
        with catalog.writing("bob", noon) as writing:
            writing.update_artifact(artifact, tokens=5)
        waited = time.monotonic() - started
        seen = (reading.revision(), reading.artifact_by_id(artifact).tokens)
    with catalog.reading() as reading:
        seen_later = (reading.revision(), reading.artifact_by_id(artifact).tokens)

    assert seen == (before, None)
    assert seen_later == (before + 1, 5)
    assert waited < 5  # a writer that waited for the reader would have waited for its whole lock time


def test_a_reader_is_not_kept_waiting_by_a_writer(place, catalog, noon):
    place("a")

    with catalog.writing("ada", noon) as writing:
        writing.add_host("other", machine_id="m")
        with catalog.reading() as reading:
            hosts = [host.name for host in reading.hosts()]

    assert hosts == ["here"]


def test_a_turn_that_is_not_given_back_is_busy(empty, catalog_address, noon):
    catalog = open_catalog(catalog_address, now=noon, lock_wait_seconds=0.1)

    with empty.writing("bob", noon), pytest.raises(Busy) as refusal, catalog.writing("ada", noon):
        pass

    with catalog.writing("ada", noon):
        pass
    catalog.close()
    assert refusal.value.exit_code is ExitCode.BUSY
    assert catalog.location in refusal.value.message
    assert PASSWORD not in str(refusal.value)


def test_an_exception_takes_back_everything_of_its_transaction(place, catalog, noon):
    artifact = place("a")
    replica = artifact.replicas[0].replica_id

    def refused():
        with catalog.writing("ada", noon) as writing:
            writing.place_hold(artifact.artifact_id, reason="keep")
            audit.append(writing.connection, AuditEntry(at=noon, actor="ada", host="here", action=AuditAction.HOLD_ADD))
            writing.change_state(replica, expected={ReplicaState.GONE}, to=ReplicaState.LIVE)

    with catalog.reading() as reading:
        before = reading.revision()
    with pytest.raises(StateChanged):
        refused()

    with catalog.reading() as reading:
        assert reading.holds() == ()
        assert audit.verify(reading.connection).events == 0
        assert reading.revision() == before


def test_of_two_who_act_on_the_same_look_the_second_is_told(place, catalog, noon):
    replica = place("a").replicas[0].replica_id
    with catalog.reading() as reading:
        looked = {reading.replica(replica).state}

    with catalog.writing("ada", noon) as writing:
        writing.change_state(replica, expected=looked, to=ReplicaState.QUARANTINING)

    with catalog.writing("bob", noon) as writing, pytest.raises(StateChanged):
        writing.change_state(replica, expected=looked, to=ReplicaState.QUARANTINING)
