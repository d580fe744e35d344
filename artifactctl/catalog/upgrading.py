"""Making and changing the schema with Alembic; imported only where that is asked for."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from artifactctl.shipped import shipped_dir


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the schema up to `revision` inside the connection's transaction; the caller commits."""
    command.upgrade(_configuration(connection), revision)


def downgrade(connection: Connection, revision: str) -> None:
    """Take the schema back to `revision` inside the connection's transaction; the caller commits."""
    command.downgrade(_configuration(connection), revision)


def _configuration(connection: Connection) -> Config:
    configuration = Config()
    configuration.set_main_option("script_location", str(shipped_dir("migrations")).replace("%", "%%"))
    configuration.attributes["connection"] = connection
    return configuration
