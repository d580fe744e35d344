"""Work on one artifact that several workers divide among them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """What is made and in how many shares, numbered from 0; `fingerprint` is all that decides the content."""

    artifact_id: int
    fingerprint: Mapping[str, str]
    shares: int
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share that somebody claimed, until `expires_at` unless it is finished. `rejected`: record number to reason.

    `fence` grows with every claim of the same share; `owner` is random, never a pid. Counts are those of a finished
    share.
    """

    artifact_id: int
    number: int
    fence: int
    owner: str
    host: str
    pid: int | None
    pid_started: str
    claimed_at: datetime
    expires_at: datetime
    finished_at: datetime | None
    records: int
    tokens: int
    size_bytes: int
    rejected: Mapping[int, str]

    @property
    def is_finished(self) -> bool:
        """Whether everything of it is on disk that ever will be."""
        return self.finished_at is not None

    def is_in_force(self, now: datetime) -> bool:
        """Whether somebody is at it."""
        return not self.is_finished and now < self.expires_at
