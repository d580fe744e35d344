"""What `quarantine purge` asks and shows before it deletes for good."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import ExitCode

if TYPE_CHECKING:
    from artifactctl.reclaim.quarantined import Quarantined
    from artifactctl.reclaim.workplace import Workplace


def items_to_purge(wiring: Wiring, work: "Workplace", names: Sequence[str]) -> "tuple[Quarantined, ...]":
    """Return what the names mean, or without any what is past its grace (nothing while the clock is not trusted)."""
    from artifactctl.reclaim.quarantined import expired, meant_by

    with work.catalog.reading() as reading:
        if names:
            return meant_by(reading, names, here=wiring.here, to_purge=True)
        trusted = work.trust(reading).clock
        if not trusted:
            wiring.output.warning("the clock is behind what was already recorded, so nothing counts as expired")
        return expired(reading, now=wiring.now(), clock_trusted=trusted)


def show_purge(wiring: Wiring, work: "Workplace", items: "Sequence[Quarantined]") -> ExitCode:
    """Print for each item what every guard says now; 4 when nothing of it may be purged."""
    from artifactctl.domain.verdicts import may_remove
    from artifactctl.reclaim.before_purge import forecast_purge
    from artifactctl.report.quarantine import purge_preview, purge_preview_payload

    forecasts = [(item.entry, forecast_purge(work, item)) for item in items]
    judged = [(replace(entry, freed_bytes=f.expected_freed_bytes), f.evidence) for entry, f in forecasts]
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


def confirm_purge(wiring: Wiring, items: "Sequence[Quarantined]") -> None:
    """Ask for the typed confirmation."""
    from artifactctl.report.sizes import counted, format_bytes

    for item in items:
        wiring.output.note(f"  {item.artifact.name}  {format_bytes(item.replica.allocated_bytes)}")
    wiring.dialogue.typed(f"Purge {counted(len(items), 'artifact')} for good?", "purge")
