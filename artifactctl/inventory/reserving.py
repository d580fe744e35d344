"""Reservations: bytes on a filesystem promised to somebody until a time; later plans respect them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from artifactctl import audit
from artifactctl.capacity.headroom import measure_headroom
from artifactctl.capacity.verdict import CapacityPlan
from artifactctl.catalog.catalog import Catalog
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Reservation
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import Refused
from artifactctl.domain.observation import VolumeUsage
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.machines import machine_in
from artifactctl.report.sizes import format_bytes, format_tokens

SPARE_SHARE = 0.5
"""A run may take half as long again as planned before its reservation ends."""

TO_START = timedelta(days=1)
"""Nobody starts at once."""

WITHOUT_DURATION = timedelta(days=7)


class NoRoom(Refused):
    """The bytes are no longer there to be promised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What somebody wants to be promised. `path` is where it will be written; `files` count against inodes."""

    path: bytes
    reserved_bytes: int
    files: int
    purpose: str
    expires_at: datetime


def reserve_for(catalog: Catalog, host: Host, plan: CapacityPlan, usage: VolumeUsage, *, acting: Acting) -> Reservation:
    """Promise the plan's peak; NoRoom when others have been promised it since the plan was made."""
    promise = Promise(
        path=usage.mount,
        reserved_bytes=plan.peak_bytes,
        files=plan.files,
        purpose=_purpose(plan),
        expires_at=expiry_of(plan),
    )
    return reserve(catalog, host, promise, usage, acting=acting)


def reserve(catalog: Catalog, host: Host, promise: Promise, usage: VolumeUsage, *, acting: Acting) -> Reservation:
    """Promise bytes on a volume; NoRoom, with what is missing, when they are not there or promised to others."""
    identity = host.identify()
    with catalog.writing(acting.actor, acting.now) as writing:
        promised = writing.reservations(acting.now, filesystem_uuid=usage.filesystem_uuid)
        headroom = measure_headroom(usage, reservations=promised)
        room_bytes, limited_by = headroom.binding(peak_bytes=promise.reserved_bytes, files=promise.files)
        if room_bytes < promise.reserved_bytes:
            raise NoRoom(
                f"{format_bytes(promise.reserved_bytes)} cannot be reserved: {format_bytes(max(0, room_bytes))} are "
                f"left ({limited_by}), {format_bytes(promise.reserved_bytes - room_bytes)} too little",
                remedy="`artifactctl reservation ls` lists what is promised, `artifactctl reclaim` makes room",
            )
        reservation = writing.reserve(
            usage.filesystem_uuid,
            host_id=machine_in(writing, identity).host_id,
            path=promise.path,
            reserved_bytes=promise.reserved_bytes,
            purpose=promise.purpose,
            expires_at=promise.expires_at,
        )
        audit.append(
            writing.connection,
            acting.entry(
                AuditAction.RESERVATION_MAKE,
                path=promise.path,
                size_bytes=reservation.reserved_bytes,
                reason=reservation.purpose,
                evidence={"reservation": reservation.reservation_id, "until": reservation.expires_at.isoformat()},
            ),
        )
    return reservation


def fill_reservation(catalog: Catalog, reservation_id: str, *, filled_bytes: int, acting: Acting) -> None:
    """Record how much of it is written: from then on that counts as used, no longer as promised. Not audited."""
    with catalog.writing(acting.actor, acting.now) as writing:
        writing.fill_reservation(reservation_id, filled_bytes=filled_bytes)


def fill_more(catalog: Catalog, reservation_id: str, *, added_bytes: int, acting: Acting) -> None:
    """Record how much more of it is written, by one of several who fill it; one that is over is left alone."""
    with catalog.writing(acting.actor, acting.now) as writing:
        for known in writing.reservations(acting.now):
            if known.reservation_id == reservation_id:
                filled_bytes = min(known.filled_bytes + added_bytes, known.reserved_bytes)
                writing.fill_reservation(reservation_id, filled_bytes=filled_bytes)


def _purpose(plan: CapacityPlan) -> str:
    return f"{plan.stage.value} of {format_tokens(plan.tokens)} tokens" if plan.tokens else plan.stage.value


def expiry_of(plan: CapacityPlan) -> datetime:
    """Return when the promise ends: some time after the planned end, a week on where no duration is known."""
    if plan.duration is None:
        return plan.made_at + WITHOUT_DURATION
    return plan.made_at + plan.duration * (1 + SPARE_SHARE) + TO_START


def release_reservation(catalog: Catalog, reservation_id: str, *, acting: Acting) -> Reservation:
    """Give the promised bytes back; an id that nothing is reserved under is an error."""
    with catalog.writing(acting.actor, acting.now) as writing:
        found = [r for r in writing.reservations(acting.now) if r.reservation_id.startswith(reservation_id)]
        if len(found) != 1:
            what = "several reservations begin with" if found else "nothing is reserved as"
            raise UnknownObject(f"{what} `{reservation_id}`", remedy="`artifactctl reservation ls` lists the ids")
        writing.release_reservation(found[0].reservation_id)
        audit.append(
            writing.connection,
            acting.entry(
                AuditAction.RESERVATION_RELEASE,
                path=found[0].path,
                size_bytes=found[0].reserved_bytes,
                reason=found[0].purpose,
                evidence={"reservation": found[0].reservation_id},
            ),
        )
    return found[0]
