"""`unleased`: nobody said that they are using it."""

from typing import ClassVar

from artifactctl.domain.observation import HolderKind, Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.candidate import Candidate


class Unleased:
    """Blocks on a lease on it, above or below it, on a reservation for a path in it, and on a `flock` on any member."""

    name: ClassVar[str] = "unleased"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return blocked with the lease's owner; unknown when the clock cannot be trusted to expire leases."""
        leases = candidate.leases
        if leases:
            first = leases[0]
            whose = f"`{first.command}`" if first.command else first.owner
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"{first.artifact_name} is leased by {whose} on {first.host} "
                f"until {first.expires_at:%Y-%m-%d %H:%M} UTC",
                facts=tuple(("lease", item.lease_id) for item in leases),
                remedy="wait until it ends; `artifactctl lease ls` shows it",
            )
        locks = [item for item in observation.holders.holders if item.kind is HolderKind.FLOCK]
        if locks:
            who = f"process {locks[0].pid} ({locks[0].command})" if locks[0].pid is not None else "somebody"
            where = display_path(locks[0].path) if locks[0].path else "the folder"
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"{who} holds a lock (flock) on {where}, which counts as a lease",
                facts=tuple(("flock", f"{item.pid}:{display_path(item.path)}") for item in locks),
                remedy="wait until the lock is released",
            )
        if candidate.reservations:
            booked = candidate.reservations[0]
            return Evidence(
                guard=self.name,
                verdict=Verdict.BLOCKED,
                reason=f"{booked.actor} reserved space in it for {booked.purpose}",
                facts=tuple(("reservation", item.reservation_id) for item in candidate.reservations),
                remedy=f"`artifactctl reservation release {booked.reservation_id}` when it is no longer wanted",
            )
        return Evidence(guard=self.name, verdict=Verdict.CLEAR, reason="no lease on it, above it or below it")
