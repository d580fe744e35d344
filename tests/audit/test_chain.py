"""Any change to the past is detected: one property per way of tampering, on a real database without its triggers."""

from contextlib import contextmanager
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from artifactctl import audit
from artifactctl.audit.chain import digest
from artifactctl.catalog.engine import connect
from artifactctl.catalog.location import parse_location
from artifactctl.domain.audit import AuditAction, AuditEntry

EVENTS = 6
COLUMNS = ("at_microseconds", "actor", "action", "artifact", "path", "operation", "body", "hash")

many_examples = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def entry(noon, number):
    return AuditEntry(
        at=noon + timedelta(seconds=number),
        actor=("ada", "bob")[number % 2],
        host="here",
        action=AuditAction.PURGE_DONE,
        artifact=f"data/hs-{number}",
        path=b"/data/hs-%d" % number,
        bytes=2**40 + number,
        reason="superseded",
        operation=f"op-{number}",
        policy_digest="p",
        evidence={"guards": [{"guard": "not_held", "verdict": "clear"}], "number": number},
    )


@pytest.fixture
def chain(catalog, noon):
    with catalog.writing("ada", noon) as writing:
        for number in range(EVENTS):
            audit.append(writing.connection, entry(noon, number))
    return catalog


@pytest.fixture
def tampering(chain, catalog_address, database):
    """Open a transaction of somebody who took the triggers away; it is never committed."""
    engines = connect(parse_location(catalog_address), lock_wait_seconds=1)

    @contextmanager
    def opened():
        with engines.writers.connect() as connection:
            _take_triggers_away(connection, database)
            yield connection
            connection.rollback()

    yield opened
    engines.dispose()


def test_an_untouched_chain_is_whole(chain):
    with chain.reading() as reading:
        verified = audit.verify(reading.connection)
        last = audit.event(reading.connection, EVENTS)

    assert (verified.ok, verified.events, verified.head, verified.problem) == (True, EVENTS, last.hash, "")


def test_an_empty_chain_is_whole(catalog):
    with catalog.reading() as reading:
        verified = audit.verify(reading.connection)

    assert (verified.ok, verified.events, verified.head) == (True, 0, "")


@many_examples
@given(event_id=st.integers(1, EVENTS), column=st.sampled_from(COLUMNS), value=st.data())
def test_any_altered_field_is_detected(tampering, event_id, column, value):
    with tampering() as connection:
        old = connection.execute(text(f"SELECT {column} FROM audit_event WHERE id = {event_id}")).scalar_one()
        new = value.draw(_another(old))
        connection.execute(text(f"UPDATE audit_event SET {column} = :new WHERE id = :id"), {"new": new, "id": event_id})

        verified = audit.verify(connection)

    assert not verified.ok
    assert verified.events == event_id - 1
    assert str(event_id) in verified.problem


@many_examples
@given(event_id=st.integers(1, EVENTS), position=st.integers(0, 10_000), character=st.characters(codec="ascii"))
def test_any_altered_character_of_a_text_is_detected(tampering, event_id, position, character):
    with tampering() as connection:
        body = connection.execute(text(f"SELECT body FROM audit_event WHERE id = {event_id}")).scalar_one()
        position %= len(body)
        changed = body[:position] + character + body[position + 1 :]
        assume(changed != body and character != "\0")
        connection.execute(
            text("UPDATE audit_event SET body = :body WHERE id = :id"), {"body": changed, "id": event_id}
        )

        assert not audit.verify(connection).ok


@pytest.mark.parametrize("event_id", range(1, EVENTS + 1))
def test_a_text_with_its_hash_made_to_match_is_detected_by_the_next_event_or_the_head(tampering, event_id):
    with tampering() as connection:
        body = connection.execute(text(f"SELECT body FROM audit_event WHERE id = {event_id}")).scalar_one()
        changed = body.replace('"reason":"superseded"', '"reason":"nobody did"')
        connection.execute(
            text("UPDATE audit_event SET body = :body, hash = :hash WHERE id = :id"),
            {"body": changed, "hash": digest(changed), "id": event_id},
        )

        verified = audit.verify(connection)

    assert not verified.ok
    assert verified.events == event_id


@many_examples
@given(dropped=st.sets(st.integers(1, EVENTS), min_size=1))
def test_any_dropped_events_are_detected_the_last_ones_included(tampering, dropped):
    with tampering() as connection:
        connection.execute(text(f"DELETE FROM audit_event WHERE id IN ({', '.join(map(str, dropped))})"))

        verified = audit.verify(connection)

    assert not verified.ok
    assert verified.events == min(dropped) - 1


@many_examples
@given(dropped=st.integers(1, EVENTS))
def test_closing_the_gap_of_a_dropped_event_is_detected(tampering, dropped):
    with tampering() as connection:
        connection.execute(text(f"DELETE FROM audit_event WHERE id = {dropped}"))
        for event_id in range(dropped + 1, EVENTS + 1):
            connection.execute(text(f"UPDATE audit_event SET id = {event_id - 1} WHERE id = {event_id}"))

        assert not audit.verify(connection).ok


@many_examples
@given(pair=st.lists(st.integers(1, EVENTS), min_size=2, max_size=2, unique=True))
def test_any_two_swapped_events_are_detected(tampering, pair):
    first, second = pair
    with tampering() as connection:
        for old, new in ((first, 0), (second, first), (0, second)):
            connection.execute(text(f"UPDATE audit_event SET id = {new} WHERE id = {old}"))

        verified = audit.verify(connection)

    assert not verified.ok
    assert verified.events == min(pair) - 1


@many_examples
@given(place=st.integers(1, EVENTS + 1))
def test_an_inserted_event_is_detected(tampering, place):
    with tampering() as connection:
        for event_id in range(EVENTS, place - 1, -1):
            connection.execute(text(f"UPDATE audit_event SET id = {event_id + 1} WHERE id = {event_id}"))
        connection.execute(
            text(
                f"INSERT INTO audit_event SELECT {place}, at_microseconds, actor, action, artifact, path, operation,"
                f" body, hash FROM audit_event WHERE id <> {place} LIMIT 1"
            )
        )

        assert not audit.verify(connection).ok


@pytest.mark.parametrize("what", ["hash = 'x'", "event_id = event_id - 1", "events = events + 1"])
def test_an_altered_head_is_detected(tampering, what):
    with tampering() as connection:
        connection.execute(text(f"UPDATE audit_head SET {what}"))

        assert not audit.verify(connection).ok


def test_a_missing_head_is_detected(tampering):
    with tampering() as connection:
        connection.execute(text("DELETE FROM audit_head"))

        assert audit.verify(connection).problem == "the head of the chain is missing"


@pytest.mark.parametrize(
    "statement",
    ["UPDATE audit_event SET actor = ''", "UPDATE audit_event SET body = ''", "DELETE FROM audit_event"],
)
def test_the_database_refuses_to_change_the_past(chain, noon, statement):
    with chain.writing("eve", noon) as writing, pytest.raises(DBAPIError, match=r"never (deleted|changed)"):
        writing.connection.execute(text(statement))

    with chain.reading() as reading:
        assert audit.verify(reading.connection).ok


def test_an_event_stands_only_if_what_it_tells_of_stands(chain, noon):
    def interrupted():
        with chain.writing("ada", noon) as writing:
            audit.append(writing.connection, entry(noon, 9))
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        interrupted()

    with chain.reading() as reading:
        assert audit.verify(reading.connection).events == EVENTS
        assert audit.event(reading.connection, EVENTS + 1) is None


def _another(old):
    if isinstance(old, int):
        return st.integers(0, 2**50).filter(lambda value: value != old)
    if isinstance(old, bytes):
        return st.none() | st.binary(max_size=8)
    return st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8).filter(lambda value: value != old)


def _take_triggers_away(connection, database):
    if database == "postgresql":
        for table in ("audit_event", "audit_head"):
            connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
        return
    triggers = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
    for name in triggers:
        connection.execute(text(f"DROP TRIGGER {name}"))
