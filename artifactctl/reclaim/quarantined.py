"""What lies in quarantine, as catalog and operations tell it."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from artifactctl.catalog import Reading
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.ledger import Operation
from artifactctl.domain.text import display_path, shell_word
from artifactctl.domain.uptime import Uptime, unproven_of
from artifactctl.inventory.finding import find_artifact
from artifactctl.inventory.places import Here, Place, place_of, roots_at
from artifactctl.report.quarantine import QuarantineEntry

UNLESS_BEGUN = "`artifactctl doctor --repair` completes the purge, or takes it back where the purge had not begun"
"""What to do about an announced purge that a crash may have stopped before it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """One operation with the artifact and replica it concerns; `host` is what its machine is called."""

    operation: Operation
    artifact: Artifact
    replica: Replica
    host: str = ""

    @property
    def entry(self) -> QuarantineEntry:
        """The same for people."""
        return QuarantineEntry(
            operation=self.operation.operation_id,
            name=self.artifact.name,
            kind=self.artifact.kind.value,
            host=self.host,
            original=ManagedPath(root=self.replica.root.path, relative=self.replica.relative).absolute,
            allocated_bytes=self.replica.allocated_bytes,
            freed_bytes=self.operation.expected_freed_bytes,
            since=self.operation.started_at,
            grace_until=self.operation.grace_until,
            reason=self.operation.reason,
            actor=self.operation.actor,
        )


def in_quarantine(reading: Reading, state: ReplicaState = ReplicaState.QUARANTINED) -> tuple[Quarantined, ...]:
    """Return everything that lies in quarantine (or whose purge has begun: PURGING), oldest first."""
    items = []
    for artifact in reading.artifacts(state=state):
        for replica in artifact.replicas:
            if replica.state is state:
                operation = latest_operation(reading, artifact.artifact_id, replica.replica_id)
                if operation is not None:
                    items.append(_quarantined(reading, operation, artifact, replica))
    return tuple(sorted(items, key=lambda item: (item.operation.started_at, item.operation.operation_id)))


def meant_by(reading: Reading, words: Sequence[str], *, here: Here, to_purge: bool = False) -> tuple[Quarantined, ...]:
    """Return what the words name: artifacts (by name or old path), operations, or whole runs of `apply`.

    A word that matches nothing in quarantine is an error. What is `to_purge` may have a purge that has begun.
    """
    items = in_quarantine(reading)
    if to_purge:
        items += in_quarantine(reading, ReplicaState.PURGING)
    found: dict[str, Quarantined] = {}
    for word in words:
        place = place_of(reading, word, here=here)
        there = roots_at(reading, place, here=here)
        mine = [item for item in items if _is_called(item, word) or _lay_at(item, place, there)]
        if not mine:
            raise _nothing_meant(reading, word, here=here)
        found.update({item.operation.operation_id: item for item in mine})
    return tuple(found.values())


def _is_called(item: Quarantined, word: str) -> bool:
    operation = item.operation.operation_id
    return word in (item.artifact.name, operation, operation.rpartition("-")[0])


def _lay_at(item: Quarantined, place: Place, roots: Sequence[Root]) -> bool:
    return item.replica.root in roots and place.path == item.entry.original


def _nothing_meant(reading: Reading, word: str, *, here: Here) -> Refused | UsageError:
    listing = "`artifactctl quarantine ls` lists what is there"
    try:
        artifact = find_artifact(reading, word, here=here)
    except UnknownObject:
        known = reading.operation(word)
        if known is not None:
            return Refused(f"operation {word} is over: {known.state.value}", remedy=listing)
        return UsageError(f"nothing in quarantine is called `{word}`", remedy=listing)
    states = {r.state for r in artifact.replicas}
    shown = ", ".join(sorted(state.value for state in states))
    remedy = UNLESS_BEGUN if ReplicaState.PURGING in states else _way_back(reading, artifact) or listing
    return Refused(f"{artifact.name} is not in quarantine: it is {shown}", remedy=remedy)


def _way_back(reading: Reading, artifact: Artifact) -> str:
    """Return how what was purged comes back from another copy, "" where there is none, or nothing was purged."""
    states = {replica.state for replica in artifact.replicas}
    if ReplicaState.GONE not in states or not states <= {ReplicaState.GONE, ReplicaState.MISSING, ReplicaState.LIVE}:
        return ""
    stored = [copy.url for copy in reading.archives(artifact_ids=(artifact.artifact_id,)) if copy.is_verified]
    roots = [f"`{r.root.name}`" for r in artifact.replicas if r.state is ReplicaState.LIVE and r.root.is_managed]
    if not stored and not roots:
        return ""
    name = shell_word(os.fsencode(artifact.name))
    return f"`artifactctl unarchive {name}` brings it back from {(roots or stored)[-1]}"


def place_below(root: Root, place: Place, roots: Sequence[Root]) -> ManagedPath:
    """Return the place as one below the root, which is one of `roots`, those of its machine; UsageError otherwise."""
    try:
        if root not in roots:
            raise ValueError(f"{root.name} is on another machine")
        return ManagedPath.within(root.path, place.path)
    except ValueError as error:
        raise UsageError(
            f"{place.text} is not below the root `{root.name}` ({display_path(root.path)} on its machine)",
            remedy="a restore never leaves its root: name a path below it, as HOST:PATH on another machine",
        ) from error


def latest_operation(reading: Reading, artifact_id: int, replica_id: int) -> Operation | None:
    """Return the newest operation of a replica."""
    mine = [op for op in reading.operations(artifact_id=artifact_id) if op.replica_id == replica_id]
    return max(mine, key=lambda op: (op.started_at, op.operation_id), default=None)


def quarantined(
    reading: Reading, operation_id: str, states: Collection[ReplicaState] = (ReplicaState.QUARANTINED,)
) -> Quarantined:
    """Return the operation with its artifact and replica as they are now; `Refused` when the state is another."""
    operation = reading.operation(operation_id)
    artifact = reading.artifact_by_id(operation.artifact_id) if operation is not None else None
    if operation is None or artifact is None:
        raise UsageError(
            f"there is no operation `{operation_id}`", remedy="`artifactctl quarantine ls` lists what is there"
        )
    replica = next(r for r in artifact.replicas if r.replica_id == operation.replica_id)
    if replica.state not in states:
        raise Refused(f"{artifact.name} is not in quarantine: it is {replica.state.value}")
    return _quarantined(reading, operation, artifact, replica)


def _quarantined(reading: Reading, operation: Operation, artifact: Artifact, replica: Replica) -> Quarantined:
    machine = reading.host(replica.root.host_id)
    name = machine.name if machine is not None else ""
    return Quarantined(operation=operation, artifact=artifact, replica=replica, host=name)


def expired(reading: Reading, *, now: datetime, clock_trusted: bool) -> tuple[Quarantined, ...]:
    """Return what is past its grace; nothing while the clock cannot be trusted."""
    if not clock_trusted:
        return ()
    return tuple(item for item in in_quarantine(reading) if past_grace(item.operation.grace_until, now=now))


def unproven_grace(item: Quarantined, uptime: Uptime) -> timedelta:
    """Return how much of a grace that is over by the clocks its machine's uptime does not prove to have passed."""
    until = item.operation.grace_until
    if until is None:
        return timedelta(0)
    return unproven_of(until - item.operation.started_at, item.operation.aside_since, uptime)


def past_grace(grace_until: datetime | None, *, now: datetime) -> bool:
    """Whether a grace period has ended; one that never ends (None) has not."""
    return grace_until is not None and now >= grace_until


def roots_of(items: Sequence[Quarantined]) -> tuple[Root, ...]:
    """Return the roots the items lie in, each once."""
    return tuple({item.replica.root.root_id: item.replica.root for item in items}.values())
