"""Questions about roles."""

from sqlalchemy import Connection, select, text

from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.schema_roles import role_grant
from artifactctl.domain.roles import Grant, Role, Subject, SubjectKind

_ROLE_OF_THE_SERVER = text("SELECT 1 FROM pg_roles WHERE rolname = :name")


def grants(connection: Connection) -> tuple[Grant, ...]:
    """Return the roles granted and not revoked, oldest first."""
    found = connection.execute(select(role_grant).where(role_grant.c.revoked_at.is_(None)).order_by(role_grant.c.id))
    return tuple(
        Grant(
            grant_id=row.id,
            role=Role(row.role),
            subject=Subject(kind=SubjectKind(row.subject_kind), name=row.subject),
            granted_by=row.granted_by,
            granted_at=row.granted_at,
            reason=row.reason,
        )
        for row in found
    )


def refuse_unknown(connection: Connection, subject: Subject) -> None:
    """UnknownObject for a role that the database server does not have: a grant to it would be a typing error."""
    if subject.kind is not SubjectKind.DATABASE_ROLE:
        return
    if connection.execute(_ROLE_OF_THE_SERVER, {"name": subject.name}).first() is None:
        raise UnknownObject(
            f"the database server has no role `{subject.name}`", remedy=f"CREATE ROLE {subject.name}, or check the name"
        )
