"""Copies of a catalog: consistent while others write, complete or absent, private, put in place without a gap."""

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from datetime import UTC, datetime

import pytest

from artifactctl import audit
from artifactctl.catalog import CatalogDamaged, CatalogTooNew, FileTaken, create_or_upgrade, open_catalog
from artifactctl.catalog.backups import bring_up, copy_whole, put_in_place, reading_copy
from artifactctl.catalog.publishing import partial_file, publish_new, publish_over, set_aside
from artifactctl.catalog.upgrading import downgrade
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import Busy, CheckFailed
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.catalog_backup import back_up
from tests.bench.databases import ON_SQLITE
from tests.bench.sandbox import CHECKOUT

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ACTING = Acting(actor="ada@here", host="here", now=NOON)

WRITER = """
    import sys
    import time
    from datetime import UTC, datetime
    from artifactctl import audit
    from artifactctl.catalog import open_catalog
    from artifactctl.domain.audit import AuditAction, AuditEntry
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    catalog = open_catalog(sys.argv[1], now=now)
    number = 0
    while number < 5000:
        with catalog.writing("writer", now) as writing:
            for each in range(number, number + 3):
                writing.add_host(f"host-{each}", machine_id="m")
            entry = AuditEntry(at=now, actor="writer", host="here", action=AuditAction.RUN_RECORD, reason=str(number))
            audit.append(writing.connection, entry)
        number += 3
        time.sleep(0.005)  # a writer that never rests could keep the others out by luck alone
        if number == 30:
            print("writing", flush=True)
"""


@pytest.fixture
def writer(catalog, location):
    """Another process that adds three hosts and one audit event in each of its many transactions."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), location],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.communicate()


def files_in(folder):
    return sorted(name for name in os.listdir(folder))


@ON_SQLITE
def test_a_backup_made_while_another_process_writes_is_one_consistent_state(catalog, writer, tmp_path):
    made = []
    for number in range(3):
        back_up(catalog, bytes(tmp_path / f"backup-{number}.db"), acting=ACTING)
        with reading_copy(tmp_path / f"backup-{number}.db") as reading:
            hosts = [host for host in reading.hosts() if host.name.startswith("host-")]
            threes = list(audit.events(reading.connection, action=AuditAction.RUN_RECORD))
            made.append((len(hosts), len(threes)))
            assert audit.verify(reading.connection).ok
    assert writer.poll() is None

    assert [hosts for hosts, _ in made] == [3 * threes for _, threes in made]
    assert made[0][0] >= 30
    assert made[0] < made[1] < made[2]


@ON_SQLITE
def test_a_backup_is_one_private_file_without_a_log(catalog, tmp_path):
    place = tmp_path / "kept"
    place.mkdir()
    former = os.umask(0)
    try:
        backup = back_up(catalog, bytes(place / "backup.db"), acting=ACTING)
        with reading_copy(place / "backup.db") as reading:
            assert [root.name for root in reading.roots()] == ["data"]
    finally:
        os.umask(former)

    assert files_in(place) == ["backup.db"]
    assert stat.S_IMODE((place / "backup.db").stat().st_mode) == 0o600
    assert backup.roots == ("data",)
    assert backup.size_bytes == (place / "backup.db").stat().st_size


@ON_SQLITE
def test_that_a_backup_was_made_is_audited_with_the_head_it_holds(catalog, tmp_path):
    first = back_up(catalog, bytes(tmp_path / "first.db"), acting=ACTING)
    second = back_up(catalog, bytes(tmp_path / "second.db"), acting=ACTING)

    with catalog.reading() as reading:
        events = list(audit.events(reading.connection, action="catalog.backup"))
    assert [event.entry.evidence["audit_head"] for event in events] == [first.audit_head, second.audit_head]
    assert second.audit_head == events[0].hash


@ON_SQLITE
def test_a_backup_never_writes_over_anything(catalog, tmp_path):
    (tmp_path / "backup.db").write_text("mine")

    with pytest.raises(FileTaken):
        back_up(catalog, bytes(tmp_path / "backup.db"), acting=ACTING)

    assert (tmp_path / "backup.db").read_text() == "mine"


@ON_SQLITE
def test_a_copy_that_is_not_sound_never_gets_its_name(catalog, location, tmp_path):
    place = tmp_path / "kept"
    place.mkdir()
    with catalog.writing("ada", NOON) as writing:
        audit.append(writing.connection, ACTING.entry(AuditAction.RUN_RECORD))
    connection = sqlite3.connect(location)
    connection.execute("DROP TRIGGER audit_event_no_update")
    connection.execute("UPDATE audit_event SET body = replace(body, 'run.record', 'run.forget')")
    connection.commit()
    connection.close()

    with pytest.raises(CheckFailed, match=r"audit chain in the copy .* is not whole"):
        back_up(catalog, bytes(place / "backup.db"), acting=ACTING)

    assert files_in(place) == []


def test_a_damaged_catalog_is_not_taken_for_a_backup(tmp_path, location):
    create_or_upgrade(location, now=NOON).close()
    damaged = location.read_bytes()
    middle = len(damaged) // 2 // 4096 * 4096
    (tmp_path / "damaged.db").write_bytes(damaged[:4096] + b"\xff" * (middle - 4096) + damaged[middle:])

    with partial_file(tmp_path / "copy.db") as copy, pytest.raises(CatalogDamaged):
        copy_whole(tmp_path / "damaged.db", copy)

    assert [name for name in files_in(tmp_path) if "copy" in name] == []


@ON_SQLITE
def test_a_backup_of_an_older_version_is_brought_up_and_a_newer_one_is_refused(empty, location, tmp_path):
    with partial_file(tmp_path / "copy.db") as copy:
        copy_whole(location, copy)
        with empty._engines.writers.begin() as connection:
            downgrade(connection, "0001")
        os.truncate(copy, 0)
        copy_whole(location, copy)

        bring_up(copy)

        with reading_copy(copy) as reading:
            assert reading.identity().is_confirmed
        connection = sqlite3.connect(copy)
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
        connection.close()
        with pytest.raises(CatalogTooNew):
            bring_up(copy)


@ON_SQLITE
def test_an_open_catalog_sees_the_old_state_to_the_end_of_its_look_and_then_the_restored_one(
    catalog, location, tmp_path
):
    with partial_file(tmp_path / "copy.db") as copy:
        copy_whole(location, copy)
        with catalog.writing("ada", NOON) as writing:
            writing.add_host("later", machine_id="m-2")
        with catalog.reading() as reading:
            assert len(reading.hosts()) == 2
            put_in_place(copy, location)
            assert len(reading.hosts()) == 2

    with catalog.reading() as reading:
        assert [host.name for host in reading.hosts()] == ["here"]
    with catalog.writing("ada", NOON) as writing:
        writing.add_host("after", machine_id="m-3")
    again = open_catalog(location, now=NOON)
    with again.reading() as reading:
        assert {host.name for host in reading.hosts()} == {"here", "after"}
    again.close()


@ON_SQLITE
def test_a_catalog_that_somebody_is_writing_to_is_not_replaced(catalog, location, tmp_path, monkeypatch):
    monkeypatch.setattr("artifactctl.catalog.backups.LOCK_WAIT_SECONDS", 0.2)
    with partial_file(tmp_path / "copy.db") as copy:
        copy_whole(location, copy)
        with catalog.writing("ada", NOON) as writing:
            writing.add_host("later", machine_id="m-2")
            with pytest.raises(Busy):
                put_in_place(copy, location)

    with catalog.reading() as reading:
        assert len(reading.hosts()) == 2


def test_a_new_file_is_published_once_and_an_export_again_and_again(tmp_path):
    final = tmp_path / "file"
    with partial_file(final) as partial:
        partial.write_text("one")
        publish_new(partial, final)
    with partial_file(final) as partial:
        partial.write_text("two")
        with pytest.raises(FileTaken):
            publish_new(partial, final)
        assert final.read_text() == "one"
        publish_over(partial, final)

    assert final.read_text() == "two"
    assert files_in(tmp_path) == ["file"]


def test_a_database_goes_aside_with_its_log(tmp_path):
    for suffix in ("", "-wal"):
        (tmp_path / f"catalog.db{suffix}").write_text(suffix)

    set_aside(tmp_path / "catalog.db", tmp_path / "aside.db")

    assert files_in(tmp_path) == ["aside.db", "aside.db-wal"]
