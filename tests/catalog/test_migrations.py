"""The schema as the migrations make it is the schema the program uses."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, insert, inspect, text
from sqlalchemy.exc import DBAPIError

from artifactctl.audit.schema import metadata as audit_metadata
from artifactctl.catalog import location, versions
from artifactctl.catalog.engine import connect
from artifactctl.catalog.reading import Reading
from artifactctl.catalog.schema import metadata as catalog_metadata
from artifactctl.catalog.upgrading import downgrade, upgrade
from artifactctl.domain.accounts import Signature
from artifactctl.shipped import shipped_dir
from tests.bench.databases import ON_POSTGRESQL

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
    "root_lease",
)


@pytest.fixture
def engines(empty_address):
    engines = connect(location.parse_location(empty_address), lock_wait_seconds=1)
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
@pytest.mark.parametrize("condition", ["", " WHERE 1 = 1"])
def test_the_database_itself_refuses_to_delete(engines, table, condition):
    with engines.writers.connect() as connection, connection.begin() as transaction:
        upgrade(connection)
        _add_a_row(connection, table)

        with pytest.raises(DBAPIError, match=f"rows of {table} are never deleted"):
            connection.execute(text(f"DELETE FROM {table}{condition}"))
        transaction.rollback()


@pytest.mark.parametrize("table", ["audit_event", "plan_step_use", "approval", "verification"])
def test_the_database_itself_refuses_to_change_what_was_recorded(engines, table):
    with engines.writers.connect() as connection, connection.begin() as transaction:
        upgrade(connection)
        column = _add_a_row(connection, table)

        with pytest.raises(DBAPIError, match=f"rows of {table} are never changed"):
            connection.execute(text(f"UPDATE {table} SET {column} = {column}"))
        transaction.rollback()


@ON_POSTGRESQL
def test_postgresql_refuses_to_empty_a_table_whose_rows_are_kept(engines):
    with engines.writers.begin() as connection:
        upgrade(connection)

    with (
        pytest.raises(DBAPIError, match="rows of audit_event are never deleted"),
        engines.writers.begin() as connection,
    ):
        connection.execute(text("TRUNCATE audit_event"))


@ON_POSTGRESQL
def test_postgresql_compares_text_byte_by_byte_as_sqlite_does(engines):
    """Names come in one order everywhere, and an upgrade of the server's locales damages no index."""
    with engines.writers.begin() as connection:
        upgrade(connection)
        ordered_otherwise = connection.execute(
            text(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
                " AND data_type IN ('text', 'character varying') AND collation_name IS DISTINCT FROM 'C'"
            )
        ).all()
        server_compares = connection.execute(text("SELECT 'a' < 'B'")).scalar_one()

    assert server_compares  # as people order words, so that this test means something
    assert ordered_otherwise == []


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
        upgrade(connection, "0003")
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
        downgrade(connection, "0003")


def _add_a_row(connection, table):
    """Fill every column of a new row with something, whatever it refers to; return the first column's name."""
    found = MetaData()
    found.reflect(connection, only=[table], resolve_fks=False)
    columns = found.tables[table].columns
    if connection.execute(text(f"SELECT 1 FROM {table}")).first() is None:
        without_references, checked_again = {
            "postgresql": (
                "SET LOCAL session_replication_role = replica",
                "SET LOCAL session_replication_role = origin",
            ),
            "sqlite": ("PRAGMA defer_foreign_keys = ON", "SELECT 1"),
        }[connection.dialect.name]
        connection.execute(text(without_references))
        connection.execute(insert(found.tables[table]).values({column.name: _something(column) for column in columns}))
        connection.execute(text(checked_again))
    return next(iter(columns)).name


def _something(column):
    return {int: 1, str: "1", bytes: b"1", bool: True, float: 1.0}[column.type.python_type]
