"""Roles: who has which, what each is for, and what that means for whoever asks."""

from collections.abc import Sequence
from typing import Any

from artifactctl.domain.roles import RULES, Grant, Identity, Permission, Role, permits, roles_of
from artifactctl.domain.text import printable
from artifactctl.domain.verdicts import Verdict
from artifactctl.report.evidence import SYMBOLS
from artifactctl.report.instants import format_instant
from artifactctl.report.tables import Document, Table, columns

NONE_RECORDED = "no role is recorded: everybody who can open the catalog may do everything"


def roles_document(grants: Sequence[Grant], who: Identity | None) -> Document:
    """Return the roles in force, then what whoever asks may do."""
    if not grants:
        return [NONE_RECORDED]
    table = Table(
        columns=columns("role", "who", "granted by", "since", "reason"),
        rows=tuple(
            (
                grant.role.value,
                printable(str(grant.subject)),
                printable(grant.granted_by),
                format_instant(grant.granted_at),
                printable(grant.reason),
            )
            for grant in sorted(grants, key=lambda grant: (list(Role).index(grant.role), str(grant.subject)))
        ),
    )
    return [table, "", *_own_lines(grants, who)]


def _own_lines(grants: Sequence[Grant], who: Identity | None) -> list[str]:
    if who is None:
        return ["nobody can say who you are, so you may do nothing that takes a role"]
    answers = [permits(grants, who, act) for act in RULES]
    return [f"{printable(who.shown)} may", *(_own_line(answer) for answer in answers)]


def _own_line(answer: Permission) -> str:
    words = RULES[answer.act].words
    if answer.is_given:
        return f"  {SYMBOLS[Verdict.CLEAR]} {words}"
    return f"  {SYMBOLS[Verdict.BLOCKED]} {words}: takes the role `{answer.role}`"


def roles_payload(grants: Sequence[Grant], who: Identity | None) -> dict[str, Any]:
    """Return `role ls --json`; `yours` is null where nobody can say who asks."""
    own = None
    if who is not None:
        own = {
            "subject": str(who.self_subject),
            "owns_catalog": who.owns_catalog,
            "roles": sorted(role.value for role in roles_of(grants, who)),
        }
    return {"in_force": bool(grants), "roles": [grant_payload(grant) for grant in grants], "yours": own}


def grant_payload(grant: Grant) -> dict[str, Any]:
    """Return one grant as JSON."""
    return {
        "role": grant.role.value,
        "subject": grant.subject.name,
        "subject_kind": grant.subject.kind.value,
        "granted_by": grant.granted_by,
        "granted_at": grant.granted_at,
        "reason": grant.reason,
    }


def granted_lines(grants: Sequence[Grant], role: Role, subject: str) -> list[str]:
    """Return what granting `role` to `subject` came to."""
    if not grants:
        return [f"{printable(subject)} has the role `{role}` already"]
    return [f"{printable(str(grant.subject))} has the role `{grant.role}`" for grant in grants]


def acts_table() -> str:
    """Return the acts that take a role as Markdown, as the documentation shows them."""
    rows = [
        f"| {rule.words} | {', '.join(f'`{command}`' for command in rule.commands)} | `{rule.role}` |"
        for rule in RULES.values()
    ]
    return "\n".join(("| act | commands | role it takes |", "|---|---|---|", *rows))
