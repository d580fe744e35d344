"""Making and changing the schema with Alembic; imported only where that is asked for."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from artifactctl.domain.errors import UsageError
from artifactctl.shipped import shipped_dir


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the schema up to `revision` inside the connection's transaction; the caller commits."""
    if connection.dialect.name == "postgresql":
        _require_unicode(connection)
    command.upgrade(_configuration(connection), revision)
    if connection.dialect.name == "postgresql":
        _compare_by_bytes(connection)


def downgrade(connection: Connection, revision: str) -> None:
    """Take the schema back to `revision` inside the connection's transaction; the caller commits."""
    command.downgrade(_configuration(connection), revision)


def _configuration(connection: Connection) -> Config:
    configuration = Config()
    configuration.set_main_option("script_location", str(shipped_dir("migrations")).replace("%", "%%"))
    configuration.attributes["connection"] = connection
    return configuration


def _require_unicode(connection: Connection) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise UsageError(
            f"the database is encoded in {encoding}, which cannot hold every name",
            remedy="make another one for the catalog: createdb --encoding=UTF8 --template=template0 NAME",
        )


_OTHERWISE = text(
    "SELECT quote_ident(table_name), quote_ident(column_name), format_type(atttypid, atttypmod)"
    " FROM information_schema.columns"
    " JOIN pg_attribute ON attrelid = quote_ident(table_name)::regclass AND attname = column_name"
    " WHERE table_schema = current_schema() AND data_type IN ('text', 'character varying')"
    " AND collation_name IS DISTINCT FROM 'C'"
)


def _compare_by_bytes(connection: Connection) -> None:
    """Let every text compare by its bytes, as on SQLite: a server orders words by its locale, which updates change."""
    for table, column, kind in connection.execute(_OTHERWISE).all():
        connection.exec_driver_sql(f'ALTER TABLE {table} ALTER COLUMN {column} TYPE {kind} COLLATE "C"')
