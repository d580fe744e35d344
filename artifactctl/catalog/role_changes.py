"""Changes to roles. Whoever makes one can still make the next: so there is always somebody who may administer."""

from sqlalchemy import insert, update

from artifactctl.catalog import role_queries
from artifactctl.catalog.failures import LastAdministrator, UnknownObject
from artifactctl.catalog.schema_roles import role_grant
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.roles import Act, Grant, Role, Subject, may_administer_without


def grant_role(writing: Transaction, role: Role, subject: Subject, reason: str) -> tuple[Grant, ...]:
    """Grant a role and return what was granted: nothing when it was before, with the first also the way to grant."""
    writing.require(Act.CHANGE_ROLES, about=f"{role} to {subject}")
    role_queries.refuse_unknown(writing.connection, subject)
    before = role_queries.grants(writing.connection)
    wanted = [(role, subject)]
    who = writing.who_acts()
    if not before and who is not None:
        wanted.append((Role.ADMINISTER, who.self_subject))
    for each, whom in dict.fromkeys(wanted):
        if not any(grant.role is each and grant.subject == whom for grant in before):
            _insert(writing, each, whom, reason)
    known = {grant.grant_id for grant in before}
    return tuple(grant for grant in role_queries.grants(writing.connection) if grant.grant_id not in known)


def revoke_role(writing: Transaction, role: Role, subject: Subject, reason: str) -> tuple[Grant, ...]:
    """Revoke a role. LastAdministrator when whoever asks could not grant any more while other roles stay in force."""
    writing.require(Act.CHANGE_ROLES, about=f"{role} from {subject}")
    before = role_queries.grants(writing.connection)
    gone = tuple(grant for grant in before if grant.role is role and grant.subject == subject)
    if not gone:
        raise UnknownObject(f"`{subject}` does not have the role `{role}`", remedy="`artifactctl role ls` lists them")
    who = writing.who_acts()
    if who is not None and not may_administer_without(before, gone, who):
        raise LastAdministrator(
            f"without that {who.shown} could not grant anything any more",
            remedy="let another administrator revoke it, or revoke every other role first: then none is in force",
        )
    statement = update(role_grant).where(role_grant.c.id.in_([grant.grant_id for grant in gone]))
    writing.connection.execute(statement.values(revoked_at=writing.now, revoked_by=writing.actor, revoke_reason=reason))
    return gone


def _insert(writing: Transaction, role: Role, subject: Subject, reason: str) -> None:
    writing.connection.execute(
        insert(role_grant).values(
            role=role.value,
            subject_kind=subject.kind.value,
            subject=subject.name,
            granted_by=writing.actor,
            granted_at=writing.now,
            reason=reason,
            revoked_by="",
            revoke_reason="",
        )
    )
