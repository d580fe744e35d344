"""The volumes of several machines, asked at the same time."""

from typing import TYPE_CHECKING

from artifactctl.cli.which_machine import Incomplete
from artifactctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.machine_choice import Machines
    from artifactctl.report.volumes import VolumeAccount


def account_each(wiring: Wiring, machines: "Machines", answered: Incomplete) -> "list[VolumeAccount]":
    """Return every volume of the machines that answered, with what the catalog knows of it, if there is one."""
    from artifactctl.inventory.volumes import account_volumes

    catalog = wiring.catalog_if_any

    def account(host: "Host") -> "tuple[VolumeAccount, ...]":
        if catalog is None:
            return account_volumes(host, None, now=wiring.now())
        with catalog.reading() as reading:
            return account_volumes(host, reading, now=wiring.now())

    found = answered.answers(wiring.fleet.each(machines, account), of=len(machines))
    return [account for volumes in found for account in volumes]
