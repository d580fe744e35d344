"""What can be wrong with a PostgreSQL server: each is named with the way out, and no password is ever shown."""

import os
import shutil
import stat
import threading
import time
from contextlib import closing

import pytest
from sqlalchemy import text

from artifactctl.catalog import (
    CatalogMissing,
    CatalogTooNew,
    CatalogUnusable,
    NotACatalog,
    create_or_upgrade,
    open_catalog,
)
from artifactctl.catalog.failures import (
    CatalogDenied,
    CatalogReadOnly,
    CatalogUnreachable,
    CommitUnknown,
    DatabaseMissing,
)
from artifactctl.catalog.location import parse_location
from artifactctl.domain.errors import Busy, UsageError
from tests.bench.postgres import PASSWORD, free_port, run_program, started


def database_of(url: str) -> str:
    return url.rpartition("/")[2]


def said(refusal: pytest.ExceptionInfo[Exception]) -> str:
    """Return everything a person sees of an error, and make sure that no password is in it."""
    told = f"{refusal.value.message} {refusal.value.remedy} {refusal.getrepr()}"
    assert PASSWORD not in told
    return f"{refusal.value.message} {refusal.value.remedy}"


def test_a_database_without_a_catalog_asks_for_init(empty_database, noon):
    with pytest.raises(CatalogMissing) as refusal:
        open_catalog(empty_database, now=noon)

    assert refusal.value.remedy == "artifactctl init"
    assert ":***@" in said(refusal)


def test_making_a_catalog_twice_keeps_its_identity(empty_database, noon):
    first = create_or_upgrade(empty_database, now=noon)
    second = create_or_upgrade(empty_database, now=noon)
    first.close()
    second.close()

    assert (first.lineage_id, first.epoch) == (second.lineage_id, second.epoch)


def test_of_two_who_make_a_catalog_at_once_one_makes_it_and_both_have_it(empty_database, noon):
    made = []

    def make():
        with closing(create_or_upgrade(empty_database, now=noon)) as catalog:
            made.append(catalog.lineage_id)

    makers = [threading.Thread(target=make) for _ in range(3)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()

    assert len(made) == 3
    assert len(set(made)) == 1


def test_a_database_of_something_else_is_refused_and_kept(postgres, empty_database, noon):
    postgres.execute("CREATE TABLE songs (title text)", database=database_of(empty_database))

    for opener in (open_catalog, create_or_upgrade):
        with pytest.raises(NotACatalog):
            opener(empty_database, now=noon)


@pytest.mark.parametrize("opener", [open_catalog, create_or_upgrade])
def test_a_catalog_of_a_newer_version_is_refused(postgres, catalog_database, noon, opener):
    postgres.execute("UPDATE alembic_version SET version_num = '9999'", database=database_of(catalog_database))

    with pytest.raises(CatalogTooNew, match="9999"):
        opener(catalog_database, now=noon)


def test_a_catalog_that_is_upgraded_while_it_is_open_takes_no_more_writes_of_the_older_program(
    postgres, catalog_database, noon
):
    with closing(open_catalog(catalog_database, now=noon)) as catalog:
        postgres.execute("UPDATE alembic_version SET version_num = '9999'", database=database_of(catalog_database))

        with pytest.raises(CatalogTooNew), catalog.writing("ada", noon) as writing:
            writing.add_host("late", machine_id="m")


def test_a_server_that_is_not_there_is_named(postgres, noon):
    nowhere = postgres.url("catalog").replace(f":{postgres.port}/", f":{free_port()}/")

    with pytest.raises(CatalogUnreachable) as refusal:
        open_catalog(nowhere, now=noon)

    assert "refused" in said(refusal)
    assert "pg_isready" in refusal.value.remedy


def test_a_wrong_password_is_named_with_the_places_for_the_right_one(postgres, noon):
    with pytest.raises(CatalogDenied) as refusal:
        open_catalog(postgres.url("postgres", password="guessed"), now=noon)

    assert "guessed" not in said(refusal)
    assert "~/.pgpass" in refusal.value.remedy


def test_a_server_that_asks_for_a_password_that_nobody_gave(postgres, noon, monkeypatch):
    monkeypatch.setenv("PGPASSFILE", "/nonexistent")
    url = f"postgresql://artifactctl_tests@127.0.0.1:{postgres.port}/postgres"

    with pytest.raises(CatalogDenied, match="no password supplied"):
        open_catalog(url, now=noon)


def test_an_unknown_role_and_a_forbidden_origin_are_told(postgres, noon):
    with pytest.raises(CatalogDenied):
        open_catalog(postgres.url("postgres", user="nobody_knows"), now=noon)


def test_a_database_that_is_not_there_says_how_to_make_it(postgres, noon):
    for opener in (open_catalog, create_or_upgrade):
        with pytest.raises(DatabaseMissing) as refusal:
            opener(postgres.url("no_such_database"), now=noon)
        assert "createdb --encoding=UTF8 no_such_database" in said(refusal)


def test_a_database_in_another_encoding_is_refused_before_anything_is_made(postgres, noon):
    postgres.execute("CREATE DATABASE latin ENCODING LATIN1 LOCALE 'C' TEMPLATE template0")

    with pytest.raises(UsageError, match="LATIN1"):
        create_or_upgrade(postgres.url("latin"), now=noon)

    postgres.drop_database("latin")


def test_tls_that_the_server_does_not_offer_is_told(catalog_database, noon):
    with pytest.raises(CatalogUnreachable) as refusal:
        open_catalog(f"{catalog_database}?sslmode=require", now=noon)

    assert "sslmode" in said(refusal)


def test_a_server_without_a_free_connection_is_busy(postgres, catalog_database, noon):
    name = database_of(catalog_database)
    postgres.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 0 PASSWORD 'few'")
    try:
        with pytest.raises(Busy, match="too many connections"):
            open_catalog(postgres.url(name, user="few", password="few"), now=noon)
    finally:
        postgres.execute("DROP ROLE few")


def test_a_role_that_may_only_read_can_look_and_is_told_when_it_writes(postgres, catalog_database, noon):
    name = database_of(catalog_database)
    postgres.execute("CREATE ROLE looker LOGIN PASSWORD 'look'")
    postgres.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO looker", database=name)
    try:
        with closing(open_catalog(postgres.url(name, user="looker", password="look"), now=noon)) as catalog:
            with catalog.reading() as reading:
                assert reading.hosts() == ()
            with pytest.raises(CatalogDenied) as refusal, catalog.writing("eve", noon) as writing:
                writing.add_host("here", machine_id="m")
        assert "permission denied" in said(refusal)
    finally:
        postgres.execute("DROP OWNED BY looker", database=name)
        postgres.execute("DROP ROLE looker")


def test_a_standby_can_be_read_and_is_named_when_it_cannot_be_written(postgres, catalog_database, noon):
    copy, port = postgres.folder / "standby", free_port()
    source = f"host=127.0.0.1 port={postgres.port} user=artifactctl_tests password='{PASSWORD}'"
    words = ("--checkpoint=fast", "--no-sync", "--write-recovery-conf", f"--pgdata={copy}", f"--dbname={source}")
    run_program(postgres.programs, postgres.folder, "pg_basebackup", *words)
    with started(postgres, copy, port=port):
        there = catalog_database.replace(f":{postgres.port}/", f":{port}/")
        with closing(open_catalog(there, now=noon)) as catalog:
            with pytest.raises(CatalogReadOnly) as refusal, catalog.writing("ada", noon) as writing:
                writing.add_host("here", machine_id="m")
            with catalog.reading() as reading:
                assert reading.hosts() == ()
    shutil.rmtree(copy)

    assert "primary" in said(refusal)


def test_a_session_that_the_server_ends_is_told_and_the_next_change_goes_well(postgres, catalog_database, noon):
    name = database_of(catalog_database)
    with closing(open_catalog(catalog_database, now=noon)) as catalog:
        with pytest.raises(CatalogUnusable) as refusal:
            _write_after(lambda: end_sessions(postgres, name), catalog, noon)
        end_sessions(postgres, name)
        with catalog.writing("ada", noon) as writing:
            writing.add_host("kept", machine_id="m")
        with catalog.reading() as reading:
            hosts = [host.name for host in reading.hosts()]

    said(refusal)
    assert hosts == ["kept"]


def test_a_commit_that_nobody_confirmed_is_not_taken_for_either(postgres, catalog_database, noon):
    name = database_of(catalog_database)

    with (
        closing(open_catalog(catalog_database, now=noon)) as catalog,
        pytest.raises(CommitUnknown) as refusal,
        catalog.writing("ada", noon),
    ):
        end_sessions(postgres, name)

    assert "not known" in said(refusal)


def test_settings_of_the_database_that_would_weaken_the_catalog_are_overruled(postgres, catalog_database, noon):
    name = database_of(catalog_database)
    for setting, value in (("default_transaction_isolation", "serializable"), ("synchronous_commit", "off")):
        postgres.execute(f"ALTER DATABASE {name} SET {setting} = '{value}'")

    with closing(open_catalog(catalog_database, now=noon)) as catalog, catalog.writing("ada", noon) as writing:
        shown = {
            setting: writing.connection.execute(text(f"SHOW {setting}")).scalar_one()
            for setting in ("transaction_isolation", "synchronous_commit", "idle_in_transaction_session_timeout")
        }

    assert shown == {
        "transaction_isolation": "read committed",
        "synchronous_commit": "on",
        "idle_in_transaction_session_timeout": "30s",
    }


def test_a_frozen_writer_loses_its_turn_and_what_it_had_not_committed(catalog_database, noon, monkeypatch):
    monkeypatch.setattr("artifactctl.catalog.postgresql._IDLE_SECONDS", 1)
    with closing(open_catalog(catalog_database, now=noon)) as catalog:
        frozen = catalog.writing("ada", noon)
        frozen.__enter__().add_host("frozen", machine_id="m")
        begun = time.monotonic()
        with catalog.writing("bob", noon) as writing:
            writing.add_host("next", machine_id="m")
        waited = time.monotonic() - begun
        with pytest.raises((CatalogUnusable, CommitUnknown)):
            frozen.__exit__(None, None, None)
        with catalog.reading() as reading:
            hosts = [host.name for host in reading.hosts()]

    assert hosts == ["next"]
    assert waited < 10


def test_services_password_files_and_sockets_are_honoured(postgres, catalog_database, noon, tmp_path, monkeypatch):
    name = database_of(catalog_database)
    service, passwords = tmp_path / "services.conf", tmp_path / "pgpass"
    service.write_text(
        f"[team]\nhost=127.0.0.1\nport={postgres.port}\nuser=artifactctl_tests\ndbname={name}\n", encoding="utf-8"
    )
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    passwords.write_text(f"*:*:*:*:{escaped}\n", encoding="utf-8")
    os.chmod(passwords, stat.S_IRUSR | stat.S_IWUSR)
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    monkeypatch.setenv("PGPASSFILE", str(passwords))

    open_catalog("postgresql://?service=team", now=noon).close()
    open_catalog(
        f"postgresql://artifactctl_tests@/{name}?host={postgres.folder}&port={postgres.port}", now=noon
    ).close()
    with pytest.raises(UsageError, match="other_team"):
        open_catalog("postgresql://?service=other_team", now=noon)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ada:{PASSWORD.replace('/', '%2F').replace('@', '%40').replace('%r', '%25r')}@server/artifacts",
        "postgresql:///artifacts?host=server&user=ada&password=pa%3As%2Fs%40w%25rd",
    ],
)
def test_a_location_is_shown_without_its_password_wherever_that_stands(url):
    location = parse_location(url)

    assert PASSWORD not in location.shown
    assert "***" in location.shown
    assert "+psycopg" not in location.shown


@pytest.mark.parametrize("url", ["postgresql://one:1,two:2/database", "mysql://ada@server/database"])
def test_a_url_that_no_catalog_can_have_is_refused_with_an_example(url):
    with pytest.raises(UsageError) as refusal:
        parse_location(url)

    assert "host=one:5432&host=two:5432" in refusal.value.remedy


def end_sessions(postgres, database: str) -> None:
    """End everybody's session with a database, as a restart of the server would."""
    postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")


def _write_after(happened, catalog, noon):
    with catalog.writing("ada", noon) as writing:
        happened()
        writing.add_host("lost", machine_id="m")
