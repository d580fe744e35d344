"""Asking the chain, and taking it elsewhere."""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from artifactctl import audit
from artifactctl.domain.audit import AuditAction, AuditEntry

HOUR = timedelta(hours=1)
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001  what is refused


@pytest.fixture
def told(catalog, noon):
    entries = [
        AuditEntry(
            at=noon,
            actor="ada",
            host="h1",
            action=AuditAction.ARTIFACT_REGISTER,
            artifact="a",
            path=b"/data/a",
            bytes=5,
        ),
        AuditEntry(
            at=noon + HOUR, actor="bob", host="h1", action=AuditAction.QUARANTINE_DONE, artifact="a", operation="op-1"
        ),
        AuditEntry(
            at=noon + 2 * HOUR,
            actor="ada",
            host="h2",
            action=AuditAction.PURGE_DONE,
            artifact="b",
            path=b"/data/a/b\xff",
        ),
        AuditEntry(
            at=noon + 3 * HOUR, actor="ada", host="h1", action=AuditAction.HOLD_ADD, artifact="a0", path=b"/data/a0"
        ),
    ]
    with catalog.writing("ada", noon) as writing:
        for entry in entries:
            audit.append(writing.connection, entry)
    return catalog


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ({}, [1, 2, 3, 4]),
        ({"artifact": "a"}, [1, 2]),
        ({"actor": "ada"}, [1, 3, 4]),
        ({"action": "purge.done"}, [3]),
        ({"action": "purge"}, [3]),
        ({"action": "pur"}, []),
        ({"operation": "op-1"}, [2]),
        ({"since": datetime(2026, 11, 30, 13, tzinfo=UTC)}, [2, 3, 4]),
        ({"until": datetime(2026, 11, 30, 13, tzinfo=UTC)}, [1]),
        ({"since": datetime(2026, 11, 30, 15, tzinfo=timezone(HOUR))}, [3, 4]),
        ({"path": b"/data/a"}, [1, 3]),
        ({"path": b"/data/a/"}, [3]),
        ({"path": b"/data"}, [1, 3, 4]),
        ({"path": b"/"}, [1, 3, 4]),
        ({"artifact": "a", "actor": "bob"}, [2]),
        ({"artifact": "nothing"}, []),
    ],
    ids=lambda value: str(value)[:60],
)
def test_events_are_found_by_each_condition(told, question, answer):
    with told.reading() as reading:
        found = [event.event_id for event in audit.events(reading.connection, **question)]

    assert found == answer


def test_an_event_comes_back_as_it_was_told(catalog, noon):
    entry = AuditEntry(
        at=datetime(2026, 11, 30, 13, 0, 0, 123456, tzinfo=timezone(HOUR)),
        actor="ada\udcff",
        host="here",
        action=AuditAction.QUARANTINE_DONE,
        artifact='name "with" quotes, ünïcode and \u2028',
        path=b"/data/caf\xe9\n",
        bytes=2**62,
        reason="\0 and \x1b[31m",
        operation="op-1",
        policy_digest="d",
        evidence={"guards": [{"facts": [["pid", 411]], "waived": False}], "ratio": 0.671, "nothing": None},
    )
    with catalog.writing("ada", noon) as writing:
        appended = audit.append(writing.connection, entry)
        found = audit.event(writing.connection, 1)
        by_actor = list(audit.events(writing.connection, actor="ada\udcff"))

        assert audit.verify(writing.connection).ok
    assert found == appended
    assert by_actor == [appended]
    assert found.entry == entry
    assert (found.event_id, found.previous_hash) == (1, "")


def test_evidence_that_is_no_json_is_refused(catalog, noon):
    with catalog.writing("ada", noon) as writing:
        for evidence in (float("nan"), {"x": object()}):
            with pytest.raises((ValueError, TypeError)):
                audit.append(
                    writing.connection,
                    AuditEntry(at=noon, actor="a", host="h", action=AuditAction.RUN_RECORD, evidence=evidence),
                )

        assert audit.verify(writing.connection).events == 0


@pytest.mark.parametrize(
    "missing",
    [{"actor": ""}, {"action": ""}, {"at": NAIVE}],
    ids=["actor", "action", "zone"],
)
def test_an_entry_without_actor_action_or_zone_is_none(noon, missing):
    facts = {"at": noon, "actor": "ada", "host": "here", "action": AuditAction.PURGE_DONE}

    with pytest.raises(ValueError, match="entry"):
        AuditEntry(**(facts | missing))


def test_an_exported_line_is_json_and_proves_itself(told):
    with told.reading() as reading:
        lines = list(audit.export_lines(reading.connection))

    previous = ""
    for line in lines:
        event = json.loads(line)
        hashed = line[: -len(f',"hash":"{event["hash"]}"}}')] + "}"
        assert "\n" not in line
        assert event["previous_hash"] == previous
        assert hashlib.sha256(hashed.encode()).hexdigest() == event["hash"]
        previous = event["hash"]
    assert [json.loads(line)["id"] for line in lines] == [1, 2, 3, 4]


def test_an_exported_line_has_the_fields_of_the_contract(told):
    with told.reading() as reading:
        line = list(audit.export_lines(reading.connection))[2]

    event = json.loads(line)
    assert event["path"] == "/data/a/b\udcff"
    assert event["path_b64"] == "L2RhdGEvYS9i/w=="
    assert set(event) == {
        "id", "at", "actor", "host", "action", "artifact", "path", "path_b64", "bytes", "reason", "operation",
        "policy_digest", "evidence", "hash", "previous_hash",
    }  # fmt: skip
    assert event["at"] == "2026-11-30T14:00:00+00:00"


def test_more_events_than_fit_one_page_are_verified_as_a_stream(catalog, noon):
    with catalog.writing("ada", noon) as writing:
        for number in range(1_200):
            audit.append(
                writing.connection,
                AuditEntry(at=noon, actor="a", host="h", action=AuditAction.RUN_RECORD, bytes=number),
            )

    with catalog.reading() as reading:
        assert audit.verify(reading.connection).events == 1_200
        assert sum(1 for _ in audit.events(reading.connection)) == 1_200
