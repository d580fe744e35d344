"""What `quarantine purge` asks and shows before it deletes for good."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import ExitCode

if TYPE_CHECKING:
    from artifactctl.domain.verdicts import Evidence
    from artifactctl.hosts.protocol import Host
    from artifactctl.reclaim.before_purge import PurgeForecast
    from artifactctl.reclaim.quarantined import Quarantined
    from artifactctl.report.quarantine import QuarantineEntry


def items_to_purge(wiring: Wiring, names: Sequence[str], hosts: Sequence[str]) -> "tuple[Quarantined, ...]":
    """Return what the names mean, or without any what is past its grace (nothing while the clock is not trusted).

    `hosts` limits that to what lies on these machines.
    """
    from artifactctl.inventory.candidates import trust_in
    from artifactctl.inventory.machine_choice import every_machine, machine_of_root
    from artifactctl.reclaim.quarantined import expired, meant_by

    with wiring.catalog.reading() as reading:
        wanted = every_machine(reading, here=wiring.here, only=hosts)
        if names:
            items = meant_by(reading, names, here=wiring.here, to_purge=True)
        else:
            trusted = trust_in(reading, now=wiring.now()).clock
            if not trusted:
                wiring.output.warning("the clock is behind what was already recorded, so nothing counts as expired")
            items = expired(reading, now=wiring.now(), clock_trusted=trusted)
        if hosts:
            items = tuple(i for i in items if machine_of_root(reading, i.replica.root, here=wiring.here) in wanted)
    return items if names else _proven(wiring, items)


def _proven(wiring: Wiring, items: "tuple[Quarantined, ...]") -> "tuple[Quarantined, ...]":
    """Return what is past its grace by the uptime of its machine as well; a clock set ahead ends none.

    What lies on a machine that does not answer is left in: nothing can be purged there, and it is named then.
    """
    from artifactctl.cli.quarantined import by_machine
    from artifactctl.reclaim.quarantined import unproven_grace
    from artifactctl.report.sizes import format_duration

    kept = set()
    for machines, mine in by_machine(wiring, items).items():
        for answer in wiring.fleet.one_by_one(machines, lambda host: host.uptime()):
            for item in mine if answer.failure is None else ():
                left = unproven_grace(item, answer.value)
                if left:
                    kept.add(item.operation.operation_id)
                    wiring.output.warning(
                        f"{item.artifact.name} stays: its grace is over by the clock, but the time that its machine "
                        f"has been up since then does not prove the last {format_duration(left)} of it; "
                        f"`artifactctl quarantine purge {item.operation.operation_id}` does not wait"
                    )
    return tuple(item for item in items if item.operation.operation_id not in kept)


def show_purge(wiring: Wiring, items: "Sequence[Quarantined]") -> ExitCode:
    """Print for each item what every guard says now; 4 when nothing of it may be purged."""
    from artifactctl.domain.verdicts import may_remove
    from artifactctl.report.quarantine import purge_preview, purge_preview_payload

    judged = _judged(wiring, items)
    wiring.output.answer(
        "purge-plan",
        payload=lambda: {"steps": [purge_preview_payload(entry, evidence) for entry, evidence in judged]},
        text=lambda: (
            ["\n".join(line for entry, evidence in judged for line in purge_preview(entry, evidence))]
            if judged
            else ["Nothing is past its grace."]
        ),
    )
    clear = [evidence for _, evidence in judged if may_remove(evidence)]
    return ExitCode.REFUSED if judged and not clear else ExitCode.DONE


def _judged(wiring: Wiring, items: "Sequence[Quarantined]") -> "list[tuple[QuarantineEntry, tuple[Evidence, ...]]]":
    """Return each item with what the guards say about it on its machine; one that does not answer permits nothing."""
    from artifactctl.cli.quarantined import by_machine
    from artifactctl.cli.reclaiming import workplace_of
    from artifactctl.domain.verdicts import Evidence, Verdict
    from artifactctl.reclaim.before_purge import forecast_purge

    judged: list[tuple[QuarantineEntry, tuple[Evidence, ...]]] = []
    parts = by_machine(wiring, items)
    for machines, mine in parts.items():

        def forecast(host: "Host", mine: "tuple[Quarantined, ...]" = mine) -> "list[PurgeForecast]":
            work = workplace_of(wiring, host=host)
            return [forecast_purge(work, item) for item in mine]

        for answer in wiring.fleet.one_by_one(machines, forecast):
            if answer.failure is None:
                pairs = zip(mine, answer.value, strict=True)
                judged += [(replace(i.entry, freed_bytes=f.expected_freed_bytes), f.evidence) for i, f in pairs]
            elif len(parts) == 1:
                raise answer.failure
            else:
                reason = f"{answer.name} cannot be asked: {answer.failure.message}"
                silence = (Evidence(guard="confined", verdict=Verdict.UNKNOWN, reason=reason),)
                judged += [(replace(item.entry, freed_bytes=0), silence) for item in mine]
    return judged


def confirm_purge(wiring: Wiring, items: "Sequence[Quarantined]") -> None:
    """Ask for the typed confirmation."""
    from artifactctl.report.sizes import counted, format_bytes

    for item in items:
        wiring.output.note(f"  {item.artifact.name}  {format_bytes(item.replica.allocated_bytes)}")
    wiring.dialogue.typed(f"Purge {counted(len(items), 'artifact')} for good?", "purge")
