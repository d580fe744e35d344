"""Gathering what the catalog says about one replica that somebody would like to remove."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, Hold, Replica, Reservation, VerifyLevel
from artifactctl.domain.attestation import MINIMUM_GRACE, Statement
from artifactctl.domain.ledger import Verification
from artifactctl.domain.uptime import Uptime, unproven_of
from artifactctl.guards import Candidate
from artifactctl.guards.candidate import Untold
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.attesting import statements_for
from artifactctl.inventory.catalog_heads import roots_ahead
from artifactctl.inventory.kinship import (
    Freshness,
    dependents_of,
    recipe_of,
    removed_children_of,
    successor_of,
)
from artifactctl.inventory.mirrored_holds import MirroredHold, holds_nobody_knows
from artifactctl.inventory.rulings import Ruling, copies_wanted_by

CLOCK_SLACK = timedelta(minutes=5)
"""How far this clock may be behind the catalog's last write before nothing expires any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Why a replica is considered: named by the operator or offered by the policy, and what was planned for it.

    At a purge the plan under which it was set aside stands for both; `set_aside_at` is when that was, and `aside_since`
    the same by the machine's uptime.
    `purge_at_once`: the plan that sets it aside is to purge it as well.
    """

    named: bool
    planned_fingerprint: str | None = None
    set_aside_at: datetime | None = None
    aside_since: Uptime | None = None
    purge_at_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What can be relied on right now. False: a clock that ran backwards, or a lineage that nobody confirmed.

    `lineage` is false since a rebuild or restore, and where a root has seen more of the catalog than there is of it.

    `statements` are what is on record about who else has files open below a root, by its id. `holds_in_roots` are
    (root id, hold) that stand in the roots and that the catalog has never heard of. `untold` says why a root can tell
    neither, because the account at hand may not look into its folder. `uptime` is the machine's, None where it was not
    asked.
    """

    lineage: bool = True
    clock: bool = True
    statements: Mapping[str, Statement] = field(default_factory=dict)
    holds_in_roots: tuple[tuple[str, MirroredHold], ...] = ()
    untold: Untold | None = None
    uptime: Uptime | None = None


def trust_in(reading: Reading, *, now: datetime) -> Trust:
    """Return what the catalog alone says of itself: a restored one is not relied on, a clock behind expires nothing.

    It is not enough to act on: an older copy of the catalog looks like itself. `trust_here` asks the roots as well.
    """
    identity = reading.identity()
    return Trust(lineage=identity.is_confirmed, clock=now >= identity.written_at - CLOCK_SLACK)


def trust_here(host: Host, reading: Reading, *, now: datetime) -> Trust:
    """Return what can be relied on by what the catalog and the roots of this machine say."""
    alone, ahead = trust_in(reading, now=now), roots_ahead(host, reading)
    denied = [Untold(reason=item.why, remedy=item.remedy) for item in ahead if item.is_denied]
    return replace(
        alone,
        lineage=alone.lineage and not ahead,
        untold=denied[0] if denied else None,
        statements=statements_for(reading, host.identify()),
        holds_in_roots=holds_nobody_knows(host, reading),
        uptime=host.uptime(),
    )


def candidate_for(
    reading: Reading,
    artifact: Artifact,
    replica: Replica,
    *,
    choice: Choice,
    ruling: Ruling,
    fresh: Freshness,
    trust: Trust,
    now: datetime,
) -> Candidate:
    """Return the candidate as the catalog shows it in this transaction."""
    root_id, relative = replica.root.root_id, replica.relative
    below = reading.artifacts_below(root_id, relative)
    around = (artifact, *reading.artifacts_above(root_id, relative), *below)
    ids = tuple({item.artifact_id for item in around})
    rule = ruling.rule
    archives = [copy for copy in reading.archives(artifact_ids=(artifact.artifact_id,)) if copy.is_verified]
    doubts = [fresh.archive_doubts[copy.archive_id] for copy in archives if copy.archive_id in fresh.archive_doubts]
    statement = trust.statements.get(root_id)
    not_before = _purge_not_before(choice, statement)
    return Candidate(
        artifact=artifact,
        replica=replica,
        named_by_operator=choice.named,
        offered_by=rule.name if rule is not None else "",
        kept_because=ruling.kept_because,
        protect=ruling.protect,
        archived_by=ruling.archived_by,
        planned_fingerprint=choice.planned_fingerprint,
        leases=reading.leases(now, artifact_ids=ids),
        holds=(*reading.holds(artifact_ids=ids), *_holds_told_by_the_root(replica, trust)),
        reservations=_reservations_in(reading, replica, now),
        dependents=dependents_of(reading, artifact, fresh=fresh, now=now),
        recipe=recipe_of(reading, artifact, fresh=fresh),
        successor=successor_of(reading, artifact, fresh=fresh),
        other_copies=tuple(r for r in artifact.replicas if r.replica_id != replica.replica_id and fresh.is_verified(r)),
        archives=tuple(copy for copy in archives if copy.archive_id in fresh.archives),
        archive_doubt=doubts[0] if doubts else "",
        hashed_first=_hashed_first(reading, replica),
        failed_digests=_failed_digests(reading, replica),
        nested=tuple(_nested_in(replica, below)),
        doubted_copies=fresh.doubted(r for r in artifact.replicas if r.replica_id != replica.replica_id),
        rebuilt_from_this=removed_children_of(reading, artifact, fresh=fresh),
        required_successor=None if choice.named else ruling.required_successor,
        required_copies=0 if choice.named or rule is None else copies_wanted_by(rule),
        quiet_time=ruling.quiet_time,
        lineage_trusted=trust.lineage,
        root_untold=trust.untold,
        clock_trusted=trust.clock,
        statement=statement,
        purge_not_before=not_before,
        purge_is_early=not_before is not None and (now < not_before or not trust.clock),
        purge_unproven=_purge_unproven(choice, statement, trust.uptime),
        purge_at_once=choice.purge_at_once,
        is_set_aside=choice.set_aside_at is not None,
    )


def _nested_in(replica: Replica, below: Sequence[Artifact]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the place inside of each artifact of its own that lies in the replica."""
    for artifact in below:
        for other in artifact.replicas:
            if other.root.root_id == replica.root.root_id and other.relative.startswith(replica.relative + b"/"):
                yield artifact.name, other.relative[len(replica.relative) + 1 :]


def _hashed_first(reading: Reading, replica: Replica) -> datetime | None:
    """Return when all members, as they are listed now, had their digests for the first time; None: not known."""
    listed_at = reading.members_listed_at(replica.artifact_id)
    if replica.verified_level is None or listed_at is None:
        return None
    done = (v for v in reading.verifications(replica.replica_id) if v.ok and v.level is VerifyLevel.DIGESTS)
    return min((each.verified_at for each in done if each.verified_at >= listed_at), default=None)


def _failed_digests(reading: Reading, replica: Replica) -> Verification | None:
    """Return the last verification where it was by digests and failed."""
    last = next(reversed(reading.verifications(replica.replica_id)), None)
    return None if last is None or last.ok or last.level is not VerifyLevel.DIGESTS else last


def _purge_not_before(choice: Choice, statement: Statement | None) -> datetime | None:
    """Return until when a purge may not rest on what was stated, None where nothing was, or nothing is purged."""
    if choice.set_aside_at is None or statement is None:
        return None
    return max(choice.set_aside_at, statement.stated_at or choice.set_aside_at) + MINIMUM_GRACE


def _purge_unproven(choice: Choice, statement: Statement | None, uptime: Uptime | None) -> timedelta:
    """Return how much of that wait the machine's uptime does not prove: no clock that was set ahead ends it."""
    if choice.set_aside_at is None or statement is None:
        return timedelta(0)
    begun = (choice.aside_since, statement.stated_since)
    return max(unproven_of(MINIMUM_GRACE, begin, uptime) for begin in begun)


def _holds_told_by_the_root(replica: Replica, trust: Trust) -> tuple[Hold, ...]:
    """Return those that cover the replica, something around it or something below it."""
    mine = replica.relative + b"/"
    return tuple(
        Hold(
            hold_id=0,
            artifact_id=replica.artifact_id,
            artifact_name=hold.name,
            reason=f"{hold.reason} (the root says so, this catalog does not know it: is it an older copy?)",
            actor=hold.actor,
            placed_at=hold.placed_at,
            until=hold.until,
        )
        for root_id, hold in trust.holds_in_roots
        if root_id == replica.root.root_id
        and any(not path or mine.startswith(path + b"/") or path.startswith(mine) for path in hold.paths)
    )


def _reservations_in(reading: Reading, replica: Replica, now: datetime) -> tuple[Reservation, ...]:
    top = replica.root.path.rstrip(b"/") + b"/" + replica.relative
    return tuple(
        item
        for item in reading.reservations(now, filesystem_uuid=replica.root.filesystem_uuid)
        if item.path == top or item.path.startswith(top + b"/")
    )
