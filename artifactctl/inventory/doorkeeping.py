"""Who has a catalog open, and what is written down of those whom it refuses."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from artifactctl import audit
from artifactctl.catalog import RoleMissing
from artifactctl.domain.accounts import Account
from artifactctl.domain.audit import AuditAction, AuditEntry


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """Knows the account of this process. It is asked for only where a role is needed; most commands need none."""

    ask_account: Callable[[], Account]

    def account(self) -> Account:
        """Return the account that acts."""
        return self.ask_account()

    def record_refusal(self, connection: Connection, refusal: RoleMissing, *, actor: str, now: datetime) -> None:
        """Audit who asked for what, and which role was missing."""
        permission, who = refusal.permission, refusal.who
        audit.append(
            connection,
            AuditEntry(
                at=now,
                actor=actor,
                host=self.account().host,
                action=AuditAction.ROLE_REFUSED,
                reason=refusal.message,
                evidence={
                    "act": permission.act.value,
                    "missing_role": permission.role.value,
                    "about": refusal.about,
                    "account": "" if who is None else str(who.self_subject),
                    "database_user": "" if who is None else who.database_user,
                },
            ),
        )
