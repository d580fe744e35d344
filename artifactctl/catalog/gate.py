"""Whether whoever has the catalog open may do an act: asked in the transaction that does it.

Who acts is told by whoever keeps the catalog: for a file the operating system, which the doorkeeper asks; for a
database the server, which knows who logged in and which roles that user is a member of. What a client says of its own
accounts counts for nothing there.

Why not in the commands: the api and whatever comes later would each have to remember it.
"""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, text

from artifactctl.catalog import role_queries
from artifactctl.catalog.failures import RoleMissing
from artifactctl.domain.accounts import Account
from artifactctl.domain.roles import Act, Identity, Permission, Role, Subject, SubjectKind, permits

_DATABASE_USER = text("SELECT session_user, current_user")
_MEMBER_OF = text("SELECT rolname FROM pg_roles WHERE pg_has_role(current_user, oid, 'MEMBER')")
_OWNS = text("SELECT pg_has_role(current_user, relowner, 'MEMBER') FROM pg_class WHERE oid = 'role_grant'::regclass")


class Doorkeeper(Protocol):
    """What a catalog asks of those who open it: who they are, and to write down whom it refused."""

    def account(self) -> Account:
        """Return the account that acts."""
        ...

    def record_refusal(self, connection: Connection, refusal: RoleMissing, *, actor: str, now: datetime) -> None:
        """Audit a refusal; the transaction is its own, since the one that was refused is rolled back."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The gate of one open catalog; `path` is that of a catalog in a file. Without a doorkeeper nobody is known.

    `is_open` is for copies that stand in nobody's place: to think with, or on the way to becoming a catalog.
    """

    doorkeeper: Doorkeeper | None = None
    path: Path | None = None
    is_open: bool = False

    def identity(self, connection: Connection) -> Identity | None:
        """Return who acts, None where nobody can say."""
        if connection.dialect.name == "postgresql":
            return _by_the_server(connection)
        if self.doorkeeper is None:
            return None
        return by_the_system(self.doorkeeper.account(), owner_id=_owner_of(self.path))

    def database_user(self, connection: Connection) -> str:
        """Return who logged in to the server, "" for a catalog in a file."""
        return str(connection.execute(_DATABASE_USER).one()[0]) if connection.dialect.name == "postgresql" else ""

    def permission(self, connection: Connection, act: Act) -> Permission:
        """Return whether the act may be done now."""
        grants = () if self.is_open else role_queries.grants(connection)
        return permits(grants, self.identity(connection) if grants else None, act)

    def require(self, connection: Connection, act: Act, *, about: str = "") -> None:
        """Raise RoleMissing unless the act may be done; `about` names what it concerns."""
        permission = self.permission(connection, act)
        if not permission.is_given:
            who = self.identity(connection)
            raise RoleMissing(permission, who=who, about=about, remedy=_remedy(connection, permission, who))


def by_the_system(account: Account, *, owner_id: int | None) -> Identity:
    """Return the identity of an account of the operating system. Root can write any file, as its owner can."""
    alone = Subject(kind=SubjectKind.ACCOUNT, name=account.login)
    groups = (Subject(kind=SubjectKind.GROUP, name=name) for name in account.groups)
    on_this_host = Subject(kind=SubjectKind.ACCOUNT, name=f"{account.login}@{account.host}")
    return Identity(
        self_subject=alone,
        subjects=frozenset((alone, on_this_host, *groups)),
        shown=account.actor,
        owns_catalog=account.is_superuser or account.user_id == owner_id,
    )


def _by_the_server(connection: Connection) -> Identity:
    logged_in, acting = connection.execute(_DATABASE_USER).one()
    member_of = connection.execute(_MEMBER_OF).scalars().all()
    return Identity(
        self_subject=Subject(kind=SubjectKind.DATABASE_ROLE, name=acting),
        subjects=frozenset(Subject(kind=SubjectKind.DATABASE_ROLE, name=name) for name in member_of),
        shown=f"the database user {logged_in}" + (f" as {acting}" if acting != logged_in else ""),
        owns_catalog=bool(connection.execute(_OWNS).scalar_one()),
        database_user=logged_in,
    )


def _owner_of(path: Path | None) -> int | None:
    return os.stat(path).st_uid if path is not None else None


def _remedy(connection: Connection, permission: Permission, who: Identity | None) -> str:
    grants = role_queries.grants(connection)
    able = [str(grant.subject) for grant in grants if grant.role is Role.ADMINISTER]
    whom = f"an administrator ({', '.join(dict.fromkeys(able))})" if able else "whoever owns the catalog"
    subject = who.self_subject if who is not None else "NAME"
    return f"{whom} can give it: `artifactctl role grant {permission.role} {subject}`"


OPEN = Gate(is_open=True)
"""For copies of a catalog: nothing that is written into them is in force."""
