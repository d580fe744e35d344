"""What a person is asked before a backup takes the catalog's place, that catalog is relied on, or something is lost."""

from typing import TYPE_CHECKING

from artifactctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from artifactctl.domain.ledger import KnownHost
    from artifactctl.inventory.catalog_restore import Unpacked
    from artifactctl.inventory.epochs import RootEpochs
    from artifactctl.reclaim.confirming import Awaiting
    from artifactctl.reclaim.workplace import Workplace


def confirm_replacing(wiring: Wiring, found: "Unpacked") -> None:
    """Ask for the typed confirmation unless there is nothing to replace, or an earlier state of the same catalog."""
    from artifactctl.report.catalog_copies import replacing_lines

    present = found.present
    if present is None or present.is_older_than(found.backup.identity):
        return
    for line in replacing_lines(present, found.backup):
        wiring.output.note(line)
    wiring.dialogue.typed(f"Put the backup in the place of {found.target}? It is kept aside.", "restore")


def epochs_elsewhere(wiring: Wiring, found: "Unpacked") -> "tuple[RootEpochs, ...]":
    """Ask the roots of other machines which epoch is in charge of them; a machine that does not answer says nothing."""
    from artifactctl.inventory.catalog_restore import epochs_on_roots, machines_told
    from artifactctl.inventory.epochs import RootEpochs

    told = {known: names for known, names in machines_told(found) if names and not wiring.here.is_machine(known)}
    answers = wiring.fleet.each(tuple(told), lambda host: epochs_on_roots(host, found))
    return tuple(
        answer.value if answer.failure is None else RootEpochs(unreachable=names)
        for answer, names in zip(answers, told.values(), strict=True)
    )


def epochs_of_others(wiring: Wiring) -> "tuple[RootEpochs, ...]":
    """Ask the roots of the other machines of the present catalog in the same way."""
    from artifactctl.inventory.epochs import RootEpochs, epochs_on

    with wiring.catalog.reading() as reading:
        lineage_id = reading.identity().lineage_id
        roots = reading.roots()
        others = [known for known in reading.hosts() if not wiring.here.is_machine(known)]
    below = {known: [root for root in roots if root.host_id == known.host_id] for known in others}
    asked = tuple(known for known in others if below[known])

    def ask(known: "KnownHost") -> RootEpochs:
        (answer,) = wiring.fleet.each((known,), lambda host: epochs_on(host, below[known], lineage_id))
        if answer.failure is not None:
            return RootEpochs(unreachable=tuple(root.name for root in below[known]))
        return RootEpochs(epochs=tuple(answer.value[0]), unreachable=answer.value[1])

    return tuple(ask(known) for known in asked)


def confirm_catalog(wiring: Wiring, work: "Workplace") -> tuple[str, ...]:
    """Ask whether a restored catalog may be relied on and take it into force; nothing to do is no question."""
    from artifactctl.reclaim.confirming import awaiting, confirm

    waiting = awaiting(work)
    if waiting is None:
        return ()
    for line in _waiting_lines(waiting):
        wiring.output.note(line)
    wiring.dialogue.typed("Is this the catalog to go on with? No other epoch of it may act there then.", "confirm")
    return confirm(work, waiting)


def confirm_lost(wiring: Wiring, work: "Workplace") -> tuple[str, ...]:
    """Ask whether what vanished from quarantine may be recorded as missing; without an answer it stays as it is."""
    from artifactctl.domain.text import printable
    from artifactctl.reclaim.examining import give_up, lost

    items = lost(work)
    if not items:
        return ()
    for item in items:
        wiring.output.note(f"  {printable(item.step.sentence)}")
    if not wiring.dialogue.can_be_answered:
        wiring.output.note("nobody is there to confirm that; `artifactctl doctor --repair --yes` records it as missing")
        return ()
    names = ", ".join(dict.fromkeys(printable(item.found.name) for item in items))
    wiring.dialogue.typed(f"Is it lost? {names}: recorded as missing, and the operation closed.", "missing")
    return give_up(work, items)


def _waiting_lines(waiting: "Awaiting") -> list[str]:
    if waiting.older_than_seen:
        lines = [f"This catalog is an older copy: {sentence}." for sentence in waiting.older_than_seen]
        lines.append("Links recorded since are lost; what the roots know is taken in:")
    else:
        what = "was confirmed, but not on these roots" if waiting.is_confirmed else "was restored and is not confirmed"
        lines = [f"Epoch {waiting.epoch} of this catalog {what}. What happened since the backup is taken in:"]
    for behind in waiting.roots:
        lines.append(
            f"  {behind.root.name} (at epoch {behind.epoch}): {len(behind.aside)} set aside, "
            f"{len(behind.purged)} purged, {len(behind.holds)} hold(s) to place again"
        )
    lines += [f"  {name}: cannot be reached; it stays read-only" for name in waiting.unreachable]
    return lines
