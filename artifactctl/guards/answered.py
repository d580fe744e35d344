"""Which limits of a look for users the kernel's leases or a statement on record answer for."""

from artifactctl.domain.observation import BlindSpot, BlindSpotKind, HolderReport

_SETTLED_BY_LEASES = frozenset(
    {BlindSpotKind.FOREIGN_PROCESSES, BlindSpotKind.HIDDEN_PROCESSES, BlindSpotKind.PID_NAMESPACE}
)
"""Blind spots about open and mapped files: a lease granted on every member answers for them."""

OTHER_MACHINES: frozenset[BlindSpotKind] = frozenset({BlindSpotKind.NETWORK_FILESYSTEM, BlindSpotKind.EXPORTED})
"""Blind spots about other machines, which only a statement on record and their own answers settle."""


def unanswered(report: HolderReport, *, attested: bool) -> tuple[BlindSpot, ...]:
    """Return the blind spots that leave it open who uses the target."""
    stated = answered_by_statement(report) if attested else ()
    return tuple(spot for spot in _left_by_leases(report) if spot not in stated)


def answered_by_statement(report: HolderReport) -> tuple[BlindSpot, ...]:
    """Return the blind spots that nothing but a statement about this machine and the others answers for.

    A container is a machine of its own in a statement: what runs outside of it is somebody else. Network filesystems
    give no write leases that mean anything, so there the look at all processes stands alone.
    """
    kinds = {BlindSpotKind.PID_NAMESPACE, *OTHER_MACHINES}
    if any(spot.kind is BlindSpotKind.NETWORK_FILESYSTEM for spot in report.blind_spots):
        kinds.add(BlindSpotKind.NO_LEASE)
    return tuple(spot for spot in _left_by_leases(report) if spot.kind in kinds)


def _left_by_leases(report: HolderReport) -> tuple[BlindSpot, ...]:
    return tuple(
        spot for spot in report.blind_spots if not (spot.kind in _SETTLED_BY_LEASES and report.leases_settle_openers)
    )
