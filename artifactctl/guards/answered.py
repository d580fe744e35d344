"""Which limits of a look for users the kernel's leases or a statement on record answer for."""

from artifactctl.domain.observation import BlindSpot, BlindSpotKind, HolderReport

_SETTLED_BY_LEASES = frozenset(
    {BlindSpotKind.FOREIGN_PROCESSES, BlindSpotKind.HIDDEN_PROCESSES, BlindSpotKind.PID_NAMESPACE}
)
"""Blind spots about open and mapped files: a lease granted on every member answers for them."""

ANSWERED_BY_ATTESTATION: frozenset[BlindSpotKind] = frozenset(
    {BlindSpotKind.NETWORK_FILESYSTEM, BlindSpotKind.EXPORTED}
)
"""Blind spots about other machines: a statement on record answers for them where it permits anything at all."""


def unanswered(report: HolderReport, *, attested: bool) -> tuple[BlindSpot, ...]:
    """Return the blind spots that leave it open who uses the target."""
    answered = ANSWERED_BY_ATTESTATION if attested else frozenset()
    return tuple(
        spot
        for spot in report.blind_spots
        if spot.kind not in answered and not (spot.kind in _SETTLED_BY_LEASES and report.leases_settle_openers)
    )
