"""The SQL by which a PostgreSQL server gives a database role no more than its roles take.

Our own check runs in a process that belongs to whoever it judges, and any other client goes around it. A server refuses
what was not granted, whoever asks. It can do so where an act has a table or a column of its own. A purge, a quarantine
and a restore change the same column of the same row: who may purge, only our code checks.
"""

from collections.abc import Collection, Iterable, Mapping

from artifactctl.domain.roles import Role

_TAKES: Mapping[Role, tuple[tuple[str, str], ...]] = {
    Role.PLAN: (("INSERT", "plan"),),
    Role.APPROVE: (("INSERT", "approval"),),
    Role.APPLY: (("INSERT", "plan_step_use"), ("INSERT", "archive_copy")),
    Role.PURGE: (),
    Role.RELEASE: (
        ("UPDATE (released_at, released_by, release_reason)", "hold"),
        ("UPDATE (broken_by, broken_reason)", "lease"),
    ),
    Role.ADMINISTER: (
        ("INSERT, UPDATE", "root"),
        ("INSERT, UPDATE", "role_grant"),
        ("UPDATE (epoch, lineage_confirmed_at, moved_to)", "catalog_identity"),
    ),
}
"""Role to (privilege, table): what the server withholds from everybody else."""

_EVERYBODY = (
    ("UPDATE", "plan"),
    ("UPDATE", "archive_copy"),
    ("INSERT", "hold"),
    ("INSERT, UPDATE (expires_at, released_at)", "lease"),
    ("UPDATE (revision, written_at)", "catalog_identity"),
    ("INSERT", "audit_event"),
)
"""What whoever may write at all needs of the tables of which something is withheld."""

_KEPT = ("alembic_version", "audit_event")


def enforced_by_the_server(role: Role) -> str:
    """Return what the server refuses whoever lacks the role, in words of its own, "" where it refuses nothing."""
    return ", ".join(f"{privilege} on {table}" for privilege, table in _TAKES[role])


def privilege_statements(name: str, roles: Collection[Role]) -> tuple[str, ...]:
    """Return the statements for one database role, which whoever owns the tables runs; again after each change.

    A member of it inherits them, as PostgreSQL does it.
    """
    whom = quoted(name)
    withheld = dict.fromkeys([*(table for pairs in _TAKES.values() for _, table in pairs), *_KEPT])
    given = [*_EVERYBODY, *(pair for role in Role if role in roles for pair in _TAKES[role])]
    return (
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {whom};",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {whom};",
        f"REVOKE INSERT, UPDATE, DELETE ON {', '.join(map(quoted, withheld))} FROM {whom};",
        *(f"GRANT {privilege} ON {quoted(table)} TO {whom};" for privilege, table in given),
    )


def quoted(name: str) -> str:
    """Return a name as PostgreSQL reads it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def privileges_table(roles: Iterable[Role] = Role) -> str:
    """Return as Markdown what the server can withhold from whoever lacks each role."""
    rows = [
        f"| `{role}` | {enforced_by_the_server(role) or 'nothing of its own: only our code checks it'} |"
        for role in roles
    ]
    return "\n".join(("| without the role | the server refuses |", "|---|---|", *rows))
