"""`quarantine`: what was set aside, put back, or purged for good."""

import click

from artifactctl.cli.options import ARTIFACT, PLACE
from artifactctl.cli.shared_options import Group, always, unless_dry_run
from artifactctl.cli.which_machine import hosts_option
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ExitCode, UsageError


@click.group(cls=Group)
def quarantine() -> None:
    """See, restore and purge what was set aside."""


@quarantine.command("ls")
@pass_wiring
def ls(wiring: Wiring) -> None:
    """List what is in quarantine, and until when."""
    from artifactctl.reclaim.quarantined import in_quarantine
    from artifactctl.report.quarantine import quarantine_payload, quarantine_table

    with wiring.catalog.reading() as reading:
        items = [item.entry for item in in_quarantine(reading)]
    wiring.output.answer(
        "quarantine",
        payload=lambda: {"quarantined": [quarantine_payload(each, now=wiring.now()) for each in items]},
        text=lambda: [quarantine_table(items, now=wiring.now())],
    )


@quarantine.command("restore", reasoned=True, changes=always)
@click.argument("names", nargs=-1, required=True, type=ARTIFACT, metavar="NAME|OPERATION...")
@click.option("--to", type=PLACE, help="Put it at this path below the same root instead of its old place.")
@pass_wiring
def restore(wiring: Wiring, names: tuple[str, ...], to: str | None) -> None:
    """Put it back where it was: same files, same inodes, never over anything."""
    from artifactctl.cli.policy_choice import policy_if_readable
    from artifactctl.cli.quarantined import carry_out_on_each
    from artifactctl.inventory.places import place_of, roots_at
    from artifactctl.reclaim import applying
    from artifactctl.reclaim.quarantined import meant_by, place_below

    with wiring.catalog.reading() as reading:
        items = meant_by(reading, names, here=wiring.here)
        if to is not None and len(items) != 1:
            raise UsageError("--to names one place", remedy="restore one artifact at a time")
        place = place_of(reading, to, here=wiring.here) if to is not None else None
        roots = roots_at(reading, place, here=wiring.here) if place is not None else ()
    below = place_below(items[0].replica.root, place, roots) if place is not None else None
    reason = wiring.choices.reason or "restored"
    carry_out_on_each(
        wiring,
        items,
        lambda work, mine: applying.restore(work, mine, to=below, reason=reason),
        policy=policy_if_readable(wiring),
    )


@quarantine.command("purge", reasoned=True, changes=unless_dry_run)
@click.argument("names", nargs=-1, type=ARTIFACT, metavar="[NAME|OPERATION]...")
@click.option("--expired", is_flag=True, help="Everything whose grace has passed, on every machine.")
@hosts_option
@click.option("--dry-run", is_flag=True, help="Show what would be purged or kept, and why.")
@pass_wiring
def purge(wiring: Wiring, names: tuple[str, ...], hosts: tuple[str, ...], *, expired: bool, dry_run: bool) -> None:
    """Delete it for good and measure what came free. Every guard runs again first."""
    from artifactctl.cli.purging import confirm_purge, items_to_purge, show_purge
    from artifactctl.cli.quarantined import carry_out_on_each
    from artifactctl.reclaim import applying

    if bool(names) == expired:
        raise UsageError(
            "say what should be purged", remedy="name artifacts or operations, or give --expired; not both"
        )
    items = items_to_purge(wiring, names, hosts)
    if dry_run:
        raise SystemExit(int(show_purge(wiring, items)))
    if not items:
        wiring.output.answer(
            "operation", payload=lambda: {"operation": "", "steps": []}, text=lambda: ["Nothing is past its grace."]
        )
        raise SystemExit(int(ExitCode.DONE))
    applying.check_may_purge(wiring.catalog, items, actor=wiring.actor, now=wiring.now())
    reason = wiring.choices.reason or "; ".join(dict.fromkeys(item.operation.reason for item in items))
    confirm_purge(wiring, items)
    carry_out_on_each(wiring, items, lambda work, mine: applying.purge(work, mine, reason=reason))
