"""Leases: somebody uses an artifact until a time. Breaking one takes proof that its holder is gone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from artifactctl import audit
from artifactctl.catalog.catalog import Catalog
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, Lease
from artifactctl.domain.audit import AuditAction, AuditEntry
from artifactctl.domain.errors import Refused
from artifactctl.hosts.probe.secrecy import without_passwords
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.process_identity import HolderLife, ProcessIdentity, lease_is_of_this_boot, life_of
from artifactctl.report.instants import format_instant

TERM = timedelta(minutes=15)
"""How long a lease lasts without being renewed: the most that a killed holder keeps an artifact longer than needed."""

RENEW_EVERY = TERM / 3


class HolderMayBeAlive(Refused):
    """There is no proof that the holder of the lease is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSet:
    """The leases one holder took together; `owner` is the secret that renews and releases them."""

    owner: str
    leases: tuple[Lease, ...]


def take_leases(
    catalog: Catalog,
    artifacts: Sequence[Artifact],
    *,
    owner: str,
    holder: ProcessIdentity | None,
    command: str,
    acting: Acting,
    until: datetime | None = None,
) -> LeaseSet:
    """Take one lease on each artifact in one transaction: all or none. None lasts longer than `until`.

    Where the system does not tell which process it is (`holder` None), nobody can prove later that it is gone: such a
    lease is given back, or runs out.
    """
    leases = []
    with catalog.writing(acting.actor, acting.now) as writing:
        for artifact in artifacts:
            lease = writing.grant_lease(
                artifact.artifact_id,
                owner=owner,
                host=acting.host,
                expires_at=_term_end(acting, until),
                pid=holder.pid if holder is not None else None,
                pid_started=holder.text if holder is not None else "",
                command=without_passwords(command),
            )
            leases.append(lease)
            audit.append(writing.connection, _entry(acting, AuditAction.LEASE_GRANT, lease))
    return LeaseSet(owner=owner, leases=tuple(leases))


def renew_leases(catalog: Catalog, held: LeaseSet, *, acting: Acting, until: datetime | None = None) -> None:
    """Extend the leases by a term, at most to `until`.

    Not audited: it is a sign of life, and the grant and the end are what happened.
    """
    with catalog.writing(acting.actor, acting.now) as writing:
        for lease in held.leases:
            writing.renew_lease(lease.lease_id, owner=held.owner, expires_at=_term_end(acting, until))


def _term_end(acting: Acting, until: datetime | None) -> datetime:
    end = acting.now + TERM
    return end if until is None else min(end, until)


def release_leases(catalog: Catalog, held: LeaseSet, *, acting: Acting) -> None:
    """Give the leases back."""
    with catalog.writing(acting.actor, acting.now) as writing:
        for lease in held.leases:
            writing.release_lease(lease.lease_id, owner=held.owner)
            audit.append(writing.connection, _entry(acting, AuditAction.LEASE_RELEASE, lease))


def break_lease(catalog: Catalog, lease_id: str, *, reason: str, here: ProcessIdentity, acting: Acting) -> Lease:
    """End somebody's lease once its holder is proven gone; HolderMayBeAlive otherwise."""
    lease = _find(catalog, lease_id, now=acting.now)
    life = life_of(lease, here=here)
    if _several_have_its_id(catalog, here):
        life = HolderLife.UNKNOWN if life is HolderLife.GONE and not lease_is_of_this_boot(lease, here) else life
    if life is not HolderLife.GONE:
        raise HolderMayBeAlive(_why_not(lease, life), remedy=_what_then(lease, life))
    with catalog.writing(acting.actor, acting.now) as writing:
        writing.break_lease(lease.lease_id, reason=reason)
        audit.append(writing.connection, _entry(acting, AuditAction.LEASE_BREAK, lease, reason=reason))
    return lease


def _several_have_its_id(catalog: Catalog, here: ProcessIdentity) -> bool:
    """Whether copies of one disk are known: an earlier boot of this machine may then be another machine that runs."""
    with catalog.reading() as reading:
        return sum(known.machine_id == here.machine_id for known in reading.hosts()) > 1


def _find(catalog: Catalog, lease_id: str, *, now: datetime) -> Lease:
    with catalog.reading() as reading:
        found = [lease for lease in reading.leases(now) if lease.lease_id.startswith(lease_id)]
    if len(found) != 1:
        what = "several leases begin with" if found else "there is no lease in force with the id"
        raise UnknownObject(f"{what} `{lease_id}`", remedy="`artifactctl lease ls` lists the ids")
    return found[0]


def _why_not(lease: Lease, life: HolderLife) -> str:
    holder = f"process {lease.pid} on {lease.host} (`{lease.command}`)"
    if life is HolderLife.ALIVE:
        return f"the lease on `{lease.artifact_name}` is in use: {holder} is running"
    return f"nobody can say from here whether {holder} still uses `{lease.artifact_name}`"


def _what_then(lease: Lease, life: HolderLife) -> str:
    expiry = f"without a sign of life it ends by itself at {format_instant(lease.expires_at)}"
    if life is HolderLife.ALIVE:
        return f"end that process, then try again; {expiry}"
    return f"run this on {lease.host}, outside of containers; {expiry}"


def _entry(acting: Acting, action: AuditAction, lease: Lease, *, reason: str = "") -> AuditEntry:
    return acting.entry(
        action,
        artifact=lease.artifact_name,
        reason=reason,
        evidence={"lease": lease.lease_id, "fence": lease.fence, "pid": lease.pid, "command": lease.command},
    )
