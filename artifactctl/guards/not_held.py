"""`not_held`: nobody on this machine, and nobody elsewhere, uses it."""

from typing import ClassVar

from artifactctl.domain.attestation import Statement
from artifactctl.domain.observation import BlindSpot, Holder, HolderKind, HolderReport, Observation
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.answered import OTHER_MACHINES, unanswered
from artifactctl.guards.attested import judge_statement, rests_on
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
    """Blocks on every use that was seen; unknown where we could not look and the kernel's leases do not settle it.

    Where other machines mount the volume it rests on what was stated about them and on the answer of each (`attested`).
    """

    name: ClassVar[str] = "not_held"

    def check(self, candidate: Candidate, observation: Observation) -> Evidence:
        """Return the holders by name, or what could not be seen with the exact thing that would settle it."""
        report, statement = observation.holders, candidate.statement
        if report.holders:
            return self._blocked(report.holders)
        for look in observation.clients:
            if look.report is not None and look.report.holders:
                return self._blocked(look.report.holders, on=look.machine)
        open_spots = unanswered(report, attested=statement is not None and statement.covers_this_machine)
        if open_spots:
            return self._unknown(open_spots, candidate.replica.root.name, statement)
        if statement is not None and rests_on(statement, report):
            return judge_statement(candidate, statement, observation)
        return self._clear(report)

    def _clear(self, report: HolderReport) -> Evidence:
        if report.leases_settle_openers and report.blind_spots:
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

    def _blocked(self, holders: tuple[Holder, ...], *, on: str = "") -> Evidence:
        named = [holder for holder in holders if holder.pid is not None] or list(holders)
        more = f" (and {len(holders) - 1} more)" if len(holders) > 1 else ""
        pids = sorted({holder.pid for holder in holders if holder.pid is not None})
        return Evidence(
            guard=self.name,
            verdict=Verdict.BLOCKED,
            reason=(f"on {on}: " if on else "") + describe(named[0]) + more,
            facts=(
                *((("machine", on),) if on else ()),
                *(
                    (holder.kind.value, f"{holder.pid if holder.pid is not None else '?'}:{display_path(holder.path)}")
                    for holder in named[:20]
                ),
            ),
            remedy=f"wait for process {pids[0]}{f' on {on}' if on else ''} or stop it"
            if pids
            else f"find the user with `artifactctl doctor`{f' on {on}' if on else ''}",
        )

    def _unknown(self, spots: tuple[BlindSpot, ...], root: str, statement: Statement | None) -> Evidence:
        reason = "cannot tell who uses it: " + "; ".join(spot.detail for spot in spots)
        remedies = [spot.settled_by for spot in spots if spot.settled_by and spot.kind not in OTHER_MACHINES]
        if any(spot.kind in OTHER_MACHINES for spot in spots):
            if statement is not None:
                reason += "; this machine is not among those that were stated to be the only ones"
            remedies.append(
                f"`artifactctl root attest {root} --sole-clients MACHINE,...` names every machine that mounts it, this "
                "one included (or --lease: everybody there takes leases)"
            )
        return Evidence(
            guard=self.name,
            verdict=Verdict.UNKNOWN,
            reason=reason,
            facts=tuple((spot.kind.value, str(spot.count)) for spot in spots),
            remedy="; ".join(dict.fromkeys(remedies)),
        )


def describe(holder: Holder) -> str:
    """Return one sentence that names the holder and what it uses."""
    words = _WORDS[holder.kind].format(path=display_path(holder.path) if holder.path else "the folder itself")
    if holder.pid is None:
        return words + (f": {holder.detail}" if holder.detail else "")
    return f"process {holder.pid} ({holder.command or 'unknown command'}) {words}"
