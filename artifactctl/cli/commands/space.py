"""`du`, `df`: where the bytes are."""

from typing import TYPE_CHECKING

import click

from artifactctl.cli.options import PLACE
from artifactctl.cli.shared_options import Command
from artifactctl.cli.which_machine import Incomplete, every_machine_meant, hosts_option, place_meant
from artifactctl.cli.wiring import Wiring, pass_wiring

if TYPE_CHECKING:
    from artifactctl.hosts.protocol import Host
    from artifactctl.report.disk_usage import DiskUsage


@click.command(cls=Command)
@click.argument("path", type=PLACE, required=False, metavar="[PATH|HOST:PATH]")
@hosts_option
@pass_wiring
def du(wiring: Wiring, path: str | None, hosts: tuple[str, ...]) -> None:
    """Measure catalogued and uncatalogued bytes below the roots of every machine, or below PATH."""
    from artifactctl.inventory.disk_usage import measure
    from artifactctl.report.disk_usage import disk_usage_payload, disk_usage_text

    place = None if path is None else place_meant(wiring, path, on=hosts[0] if len(hosts) == 1 else "")
    machines = every_machine_meant(wiring, hosts) if place is None else (place.machine,)
    catalog = wiring.catalog
    with wiring.output.progress(None, "entries", "measuring") as advance:

        def ask(host: "Host") -> "tuple[DiskUsage, ...]":
            return measure(host, catalog, None if place is None else place.path, advance=advance)

        answered = Incomplete(wiring)
        measured = answered.answers(wiring.fleet.each(machines, ask), of=len(machines))
        usages = [usage for found in measured for usage in found]
    wiring.output.answer(
        "du",
        payload=lambda: {**disk_usage_payload(usages), **answered.payload},
        text=lambda: disk_usage_text(usages),
    )
    raise SystemExit(int(answered.exit_code()))


@click.command(cls=Command)
@hosts_option
@pass_wiring
def df(wiring: Wiring, hosts: tuple[str, ...]) -> None:
    """Show volumes with reserved, quarantined and unaccounted bytes, on every machine that has roots."""
    from artifactctl.cli.accounting import account_each
    from artifactctl.report.volumes import volume_payload, volumes_text

    answered = Incomplete(wiring)
    accounts = account_each(wiring, every_machine_meant(wiring, hosts), answered)
    wiring.output.answer(
        "df",
        payload=lambda: {"volumes": [volume_payload(account) for account in accounts], **answered.payload},
        text=lambda: volumes_text(accounts),
    )
    raise SystemExit(int(answered.exit_code()))
