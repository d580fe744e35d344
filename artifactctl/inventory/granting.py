"""Granting and revoking roles, audited in the transaction that does it."""

from artifactctl import audit
from artifactctl.catalog import Catalog, Writing
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.roles import Grant, Role, Subject
from artifactctl.inventory.acting import Acting


def grant(catalog: Catalog, role: Role, subject: Subject, *, reason: str, acting: Acting) -> tuple[Grant, ...]:
    """Grant a role and return the grants made: none when it was granted before; with the first, the way to grant."""
    with catalog.writing(acting.actor, acting.now) as writing:
        made = writing.grant_role(role, subject, reason=reason)
        for each in made:
            _audit(writing, AuditAction.ROLE_GRANT, each, reason=reason, acting=acting)
    return made


def revoke(catalog: Catalog, role: Role, subject: Subject, *, reason: str, acting: Acting) -> tuple[Grant, ...]:
    """Revoke a role and return what was revoked; UnknownObject when it was not granted."""
    with catalog.writing(acting.actor, acting.now) as writing:
        gone = writing.revoke_role(role, subject, reason=reason)
        for each in gone:
            _audit(writing, AuditAction.ROLE_REVOKE, each, reason=reason, acting=acting)
    return gone


def _audit(writing: Writing, action: AuditAction, grant_: Grant, *, reason: str, acting: Acting) -> None:
    evidence = {
        "role": grant_.role.value,
        "subject": grant_.subject.name,
        "subject_kind": grant_.subject.kind.value,
        "granted_by": grant_.granted_by,
    }
    told = f"{grant_.role} for {grant_.subject}" + (f": {reason}" if reason else "")
    audit.append(writing.connection, acting.entry(action, reason=told, evidence=evidence))
