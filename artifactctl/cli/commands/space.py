"""`du`, `df`: where the bytes are."""

import click

from artifactctl.cli.options import PATH
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command(cls=Command)
@click.argument("path", type=PATH, required=False)
@pass_wiring
def du(wiring: Wiring, path: bytes | None) -> None:
    """Measure catalogued and uncatalogued bytes below the roots, or below PATH."""
    from artifactctl.inventory.disk_usage import measure_place, places_of
    from artifactctl.inventory.machines import known_machine
    from artifactctl.report.disk_usage import disk_usage_payload, disk_usage_text

    with wiring.catalog.reading() as reading:
        machine = known_machine(reading, wiring.host.identify())
        places = places_of(reading, path, host_id=machine.host_id if machine else None)
        artifacts = reading.artifacts()
    with wiring.output.progress(None, "entries", "measuring") as advance:
        usages = [measure_place(wiring.host, place, artifacts, advance=advance) for place in places]
    wiring.output.answer("du", payload=lambda: disk_usage_payload(usages), text=lambda: disk_usage_text(usages))


@click.command(cls=Command)
@pass_wiring
def df(wiring: Wiring) -> None:
    """Show volumes with reserved, quarantined and unaccounted bytes."""
    from artifactctl.inventory.volumes import account_volumes
    from artifactctl.report.volumes import volume_payload, volumes_text

    with wiring.reading_if_any() as reading:
        accounts = account_volumes(wiring.host, reading, now=wiring.now())
    wiring.output.answer(
        "df",
        payload=lambda: {"volumes": [volume_payload(account) for account in accounts]},
        text=lambda: volumes_text(accounts),
    )
