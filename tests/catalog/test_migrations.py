"""The schema as the migrations make it is the schema the program uses."""

import sqlite3

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_mock_engine, inspect

from artifactctl.audit.schema import metadata as audit_metadata
from artifactctl.catalog import create_or_upgrade, location, schema_artifacts, schema_work, versions
from artifactctl.catalog.engine import connect
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.schema import metadata as catalog_metadata
from artifactctl.catalog.upgrading import downgrade, upgrade
from artifactctl.domain.accounts import Signature
from artifactctl.shipped import shipped_dir

NEVER_DELETED = (
    "artifact",
    "replica",
    "lineage_edge",
    "audit_event",
    "audit_head",
    "operation",
    "lease",
    "hold",
    "role_grant",
)


@pytest.fixture
def engines(tmp_path):
    (tmp_path / "catalog.db").touch()
    engines = connect(location.parse_location(tmp_path / "catalog.db"), lock_wait_seconds=1)
    yield engines
    engines.dispose()


def test_models_equal_the_migrated_schema(engines):
    with engines.writers.begin() as connection:
        upgrade(connection)
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})

        differences = compare_metadata(context, [catalog_metadata, audit_metadata])

    assert differences == []


def test_a_column_that_no_migration_makes_is_noticed(engines):
    with engines.writers.begin() as connection:
        upgrade(connection)
        connection.exec_driver_sql("ALTER TABLE host DROP COLUMN address")
        context = MigrationContext.configure(connection)

        differences = compare_metadata(context, [catalog_metadata, audit_metadata])

    assert [(what, table) for what, _, table, _ in differences] == [("add_column", "host")]


def test_down_to_nothing_and_up_again(engines):
    with engines.writers.begin() as connection:
        upgrade(connection)
        full = set(inspect(connection).get_table_names())
    with engines.writers.begin() as connection:
        downgrade(connection, "base")
        nothing = set(inspect(connection).get_table_names())
    with engines.writers.begin() as connection:
        upgrade(connection)
        again = set(inspect(connection).get_table_names())

    expected = set(catalog_metadata.tables) | set(audit_metadata.tables) | {"alembic_version"}
    assert full == again == expected
    assert nothing == {"alembic_version"}


def test_an_upgrade_that_fails_leaves_nothing_behind(engines):
    with engines.writers.connect() as connection, connection.begin() as transaction:
        upgrade(connection)
        transaction.rollback()

    with engines.readers.connect() as connection:
        assert inspect(connection).get_table_names() == []


def test_the_versions_known_to_the_program_are_those_that_ship():
    configuration = Config()
    configuration.set_main_option("script_location", str(shipped_dir("migrations")))
    scripts = [script.revision for script in ScriptDirectory.from_config(configuration).walk_revisions()]

    assert tuple(reversed(scripts)) == versions.KNOWN


@pytest.mark.parametrize("table", NEVER_DELETED)
def test_the_database_itself_refuses_to_delete(tmp_path, noon, table):
    create_or_upgrade(tmp_path / "catalog.db", now=noon).close()
    connection = sqlite3.connect(tmp_path / "catalog.db")
    connection.execute("PRAGMA foreign_keys = OFF")
    values = {name: "1" for _, name, _, not_null, default, key in connection.execute(f"PRAGMA table_info({table})")}
    connection.execute(
        f"INSERT OR IGNORE INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
        tuple(values.values()),
    )

    with pytest.raises(sqlite3.IntegrityError, match=f"rows of {table} are never deleted"):
        connection.execute(f"DELETE FROM {table}")
    with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
        connection.execute(
            f"DELETE FROM {table} WHERE rowid > 0" if table != "lineage_edge" else f"DELETE FROM {table}"
        )

    connection.close()


def test_every_table_can_be_written_in_the_language_of_postgresql():
    statements: list[str] = []
    engine = create_mock_engine(
        "postgresql+psycopg://", lambda sql, *_: statements.append(str(sql.compile(dialect=engine.dialect)))
    )

    catalog_metadata.create_all(engine, checkfirst=False)
    audit_metadata.create_all(engine, checkfirst=False)

    written = "\n".join(statements)
    assert schema_artifacts.shard.name in written
    assert schema_work.lease.name in written
    assert "BYTEA" in written
    assert "ROWID" not in written


def test_a_catalog_of_the_first_version_is_trusted_after_the_upgrade_and_keeps_everything(engines, noon):
    with engines.writers.begin() as connection:
        upgrade(connection, "0001")
        connection.exec_driver_sql("INSERT INTO catalog_identity VALUES (1, 'lineage-1', 3, 9, 1000000, 2000000)")

    with engines.writers.begin() as connection:
        upgrade(connection)
    with engines.readers.connect() as connection:
        identity = Reading(connection).identity()

    assert (identity.lineage_id, identity.epoch, identity.revision) == ("lineage-1", 3, 9)
    assert identity.lineage_confirmed_at == identity.created_at


def test_back_to_the_first_version_and_up_again_loses_nothing(engines):
    with engines.writers.begin() as connection:
        upgrade(connection, "0001")
        connection.exec_driver_sql("INSERT INTO catalog_identity VALUES (1, 'lineage-1', 3, 9, 1000000, 2000000)")
        before = connection.exec_driver_sql("SELECT * FROM catalog_identity").all()

    with engines.writers.begin() as connection:
        upgrade(connection)
        downgrade(connection, "0001")
        after = connection.exec_driver_sql("SELECT * FROM catalog_identity").all()
        upgrade(connection)

    assert after == before


def test_a_restored_catalog_that_waits_for_its_confirmation_is_not_taken_back(engines):
    with engines.writers.begin() as connection:
        upgrade(connection, "0001")
        connection.exec_driver_sql("INSERT INTO catalog_identity VALUES (1, 'lineage-1', 3, 9, 1000000, 2000000)")
        upgrade(connection)
        connection.exec_driver_sql("UPDATE catalog_identity SET lineage_confirmed_at = NULL")

    with engines.writers.begin() as connection, pytest.raises(RuntimeError, match="waits for"):
        downgrade(connection, "0001")


def test_what_was_planned_and_approved_before_there_were_roles_has_nobody_vouching_for_it(engines, noon):
    digest, at = "d" * 64, int(noon.timestamp() * 1e6)
    with engines.writers.begin() as connection:
        upgrade(connection, "0002")
        for statement in (
            f"INSERT INTO plan VALUES ('{digest}', '{{}}', 'saved', 'ada@here', {at}, {at})",
            f"INSERT INTO approval VALUES (1, '{digest}', 'bob@here', 'seen', {at})",
        ):
            connection.exec_driver_sql(statement)

    with engines.writers.begin() as connection:
        upgrade(connection)
    with engines.readers.connect() as connection:
        reading = Reading(connection)
        saved, (approval,) = reading.plan(digest), reading.approvals(digest)

    assert saved is not None
    assert (saved.actor, saved.planner) == ("ada@here", None)
    assert approval.signature == Signature(actor="bob@here")


def test_a_catalog_in_which_roles_are_in_force_is_not_taken_back_to_where_everybody_may_do_everything(engines):
    with engines.writers.begin() as connection:
        upgrade(connection)
        connection.exec_driver_sql(
            "INSERT INTO role_grant VALUES (1, 'purge', 'account', 'ada', 'ada', 1, '', NULL, '', '')"
        )

    with engines.writers.begin() as connection, pytest.raises(RuntimeError, match="roles are in force"):
        downgrade(connection, "0002")
