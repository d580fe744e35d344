"""`reservation`: bytes promised to somebody."""

import click

from artifactctl.cli.shared_options import Group, always
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.group(cls=Group)
def reservation() -> None:
    """See and give back promised space; `plan --reserve` promises it."""


@reservation.command("ls")
@pass_wiring
def ls(wiring: Wiring) -> None:
    """List the space that is promised."""
    from artifactctl.report.promises import reservation_payload, reservation_table

    with wiring.catalog.reading() as reading:
        promised = reading.reservations(wiring.now())
        names = {host.host_id: host.name for host in reading.hosts_ever()}
    wiring.output.answer(
        "reservations",
        payload=lambda: {"reservations": [reservation_payload(each, names) for each in promised]},
        text=lambda: [reservation_table(promised, now=wiring.now())],
    )


@reservation.command("release", changes=always)
@click.argument("reservation_id", metavar="ID")
@pass_wiring
def release(wiring: Wiring, reservation_id: str) -> None:
    """Give promised space back."""
    from artifactctl.inventory.reserving import release_reservation
    from artifactctl.report.sizes import format_bytes

    released = release_reservation(wiring.catalog, reservation_id, acting=wiring.acting)
    wiring.output.answer(
        "reservation-release",
        payload=lambda: {"id": released.reservation_id, "reserved_bytes": released.reserved_bytes},
        text=lambda: [f"{format_bytes(released.reserved_bytes)} are no longer promised"],
    )
