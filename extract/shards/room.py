"""The room of a conversion: promised before it begins, told of as it fills, given back by whoever comes next."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact, Reservation
from artifactctl.domain.errors import Refused, UsageError
from extract.publishing import allocated_below
from extract.shards.dumps import Dump

SHORTEST_PROMISE = timedelta(hours=1)
SLOWEST_BYTES_A_SECOND = 20_000_000
"""Room is promised for as long as a slow disk takes, not for the longest run: a killed one cannot give it back."""

TOLD_EVERY_BYTES = 256 * 2**20
_FILE_BYTES = 8192
"""What a file of its own costs beyond its content: header, half a block, its entry."""

_LABEL_BYTES = 16


class Filling:
    """Tells the catalog how much of a promise is used by now, some bytes at a time."""

    def __init__(self, session: Session, room: Reservation) -> None:
        self._session = session
        self._room = room
        self._filled_bytes = self._told_bytes = 0

    def add(self, size_bytes: int) -> None:
        """Count bytes that are on disk."""
        self._filled_bytes = min(self._filled_bytes + size_bytes, self._room.reserved_bytes)
        if self._filled_bytes - self._told_bytes >= TOLD_EVERY_BYTES:
            self._session.fill(self._room, filled_bytes=self._filled_bytes)
            self._told_bytes = self._filled_bytes


def reserve_rest(
    session: Session, place: Path, source: Artifact, dump: Dump, *, shard_bytes: int | None
) -> Reservation:
    """Have the room promised that the new dump takes at most beside what is at its place already.

    `shard_bytes` is None where each record becomes a file. What a killed run before was promised is given back: the
    caller has the claim on the place, so nobody else counts on it.
    """
    tokens = source.tokens
    states_bytes = source.allocated_bytes if tokens is None else tokens * (dump.form.row_bytes + _LABEL_BYTES)
    files = len(dump) if shard_bytes is None else 2 + states_bytes // shard_bytes
    reserved_bytes = max(_FILE_BYTES, states_bytes + files * _FILE_BYTES - allocated_below(place))
    duration = max(SHORTEST_PROMISE, timedelta(seconds=reserved_bytes / SLOWEST_BYTES_A_SECOND))
    purpose = f"conversion of {source.name} to {place.absolute()}"
    for stale in session.admission(place).promises_for(purpose):
        with suppress(UsageError, Refused):  # it ended meanwhile
            session.release(stale)
    return session.reserve(
        place, reserved_bytes=reserved_bytes, files=files, purpose=purpose, until=session.now + duration
    )
