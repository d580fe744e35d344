"""How Alembic reaches the database: through the connection and transaction of whoever asked for the change."""

from alembic import context

from artifactctl.audit.schema import metadata as audit_metadata
from artifactctl.catalog.schema import metadata as catalog_metadata
from artifactctl.catalog.schema_artifacts import artifact  # noqa: F401  its tables hang on the same metadata
from artifactctl.catalog.schema_roles import role_grant  # noqa: F401  likewise
from artifactctl.catalog.schema_shares import share  # noqa: F401  likewise
from artifactctl.catalog.schema_work import run  # noqa: F401  likewise

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=[catalog_metadata, audit_metadata],
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
