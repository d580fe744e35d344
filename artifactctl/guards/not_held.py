"""`not_held`: nobody on this machine, and nobody elsewhere, uses it."""

from typing import ClassVar

from artifactctl.domain.observation import BlindSpot, Holder, HolderKind, Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.answered import ANSWERED_BY_ATTESTATION, unanswered
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import counted

_WORDS = {
    HolderKind.DESCRIPTOR: "has {path} open",
    HolderKind.MAPPING: "has {path} mapped into memory",
    HolderKind.WORKING_DIRECTORY: "works in {path} (its current directory)",
    HolderKind.ROOT_DIRECTORY: "has {path} as its root directory",
    HolderKind.EXECUTABLE: "runs the program {path}",
    HolderKind.MOUNT: "has {path} mounted",
    HolderKind.LOOP_DEVICE: "a loop device is backed by {path}",
    HolderKind.SWAP: "{path} is in use as swap",
    HolderKind.KERNEL_LEASE: "the kernel says that somebody has {path} open",
    HolderKind.FLOCK: "holds a lock (flock) on {path}",
}


class NotHeld:
    """Blocks on every use that was seen; unknown where we could not look and the kernel's leases do not settle it."""

    name: ClassVar[str] = "not_held"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return the holders by name, or what could not be seen with the exact thing that would settle it."""
        report = observation.holders
        if report.holders:
            return self._blocked(report.holders)
        open_spots = unanswered(report, attested=candidate.attested)
        if open_spots:
            return self._unknown(open_spots)
        if any(candidate.attested and spot.kind in ANSWERED_BY_ATTESTATION for spot in report.blind_spots):
            attestation = candidate.replica.root.attestation
            reason = f"attested ({attestation}): nobody here uses it, and who else could was stated on record"
        elif report.leases_settle_openers and report.blind_spots:
            reason = (
                f"the kernel granted a write lease on all {counted(report.leases_granted, 'file')}: nobody has one "
                f"open or mapped; not seen: {'; '.join(spot.detail for spot in report.blind_spots)} "
                "(a current directory or a foreign mount there would not show)"
            )
        else:
            reason = f"no process of {counted(report.processes_inspected, 'process', 'processes')} uses it"
        return Evidence(
            guard=self.name,
            verdict=Verdict.CLEAR,
            reason=reason,
            facts=(
                ("leases_granted", f"{report.leases_granted}/{report.lease_candidates}"),
                *(("blind_spot", spot.kind.value) for spot in report.blind_spots),
            ),
        )

    def _blocked(self, holders: tuple[Holder, ...]) -> Evidence:
        named = [holder for holder in holders if holder.pid is not None] or list(holders)
        more = f" (and {len(holders) - 1} more)" if len(holders) > 1 else ""
        pids = sorted({holder.pid for holder in holders if holder.pid is not None})
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=describe(named[0]) + more,
            facts=tuple(
                (holder.kind.value, f"{holder.pid if holder.pid is not None else '?'}:{display_path(holder.path)}")
                for holder in named[:20]
            ),
            remedy=f"wait for process {pids[0]} or stop it" if pids else "find the user with `artifactctl doctor`",
        )

    def _unknown(self, spots: tuple[BlindSpot, ...]) -> Evidence:
        return Evidence(
            guard=self.name,
            verdict=Verdict.UNKNOWN,
            reason="cannot tell who uses it: " + "; ".join(spot.detail for spot in spots),
            facts=tuple((spot.kind.value, str(spot.count)) for spot in spots),
            remedy="; ".join(dict.fromkeys(spot.settled_by for spot in spots if spot.settled_by)),
        )


def describe(holder: Holder) -> str:
    """Return one sentence that names the holder and what it uses."""
    words = _WORDS[holder.kind].format(path=display_path(holder.path) if holder.path else "the folder itself")
    if holder.pid is None:
        return words + (f": {holder.detail}" if holder.detail else "")
    return f"process {holder.pid} ({holder.command or 'unknown command'}) {words}"
