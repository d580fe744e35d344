"""What happened, who did it, on what evidence: one entry of the audit chain, before and after it was chained."""

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""What JSON can hold; numbers are finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act as its author reports it. `at` is aware UTC; `path` is absolute on `host`; `bytes` is what it concerned.

    `artifact` is the name at that time. An entry that concerns no artifact, operation or policy leaves "" there.
    """

    at: datetime
    actor: str
    host: str
    action: str
    artifact: str = ""
    path: builtins.bytes | None = None
    bytes: int | None = None
    reason: str = ""
    operation: str = ""
    policy_digest: str = ""
    evidence: JsonValue = None

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("an audit entry needs an aware instant")
        if not self.action or not self.actor:
            raise ValueError("an audit entry names its action and its actor")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """An entry in the chain: numbers start at 1 without gaps, hashes are SHA-256 in hex.

    `hash` is over the exact stored text, which holds the number, the entry and `previous_hash` ("" for the first).
    """

    event_id: int
    entry: AuditEntry
    previous_hash: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerification:
    """The result of walking the whole chain. `events` counts what was sound, `problem` says where it first was not.

    `head` is the hash of the last sound event. Kept elsewhere, it proves later that nobody rewrote the whole chain.
    """

    ok: bool
    events: int
    head: str
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """The newest event of the chain: its hash ("" before the first) and how many events there are."""

    events: int
    hash: str
