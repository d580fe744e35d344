"""Who acts, where and when: what every change of state and every audit entry needs to know."""

from dataclasses import dataclass
from datetime import datetime

from artifactctl.domain.audit import AuditAction, AuditEntry, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """`actor` is `login@host`, `host` the machine's name, `now` aware UTC."""

    actor: str
    host: str
    now: datetime

    def entry(
        self,
        action: AuditAction,
        *,
        artifact: str = "",
        path: bytes | None = None,
        size_bytes: int | None = None,
        reason: str = "",
        policy_digest: str = "",
        evidence: JsonValue = None,
    ) -> AuditEntry:
        """Return the audit entry of one act."""
        return AuditEntry(
            at=self.now,
            actor=self.actor,
            host=self.host,
            action=action,
            artifact=artifact,
            path=path,
            bytes=size_bytes,
            reason=reason,
            policy_digest=policy_digest,
            evidence=evidence,
        )
