"""The report over several machines, each looked at by its own guards."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from artifactctl import __version__
from artifactctl.cli.accounting import account_each
from artifactctl.cli.policy_choice import policy_for
from artifactctl.cli.reclaiming import workplace_of
from artifactctl.cli.which_machine import Incomplete, every_machine_meant
from artifactctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from artifactctl.hosts.protocol import Host
    from artifactctl.report.prospects import Prospect
    from artifactctl.report.stock_report import StockReport


def report_on(
    wiring: Wiring, hosts: Sequence[str], answered: Incomplete, *, looking_at: Callable[[str], None]
) -> "StockReport":
    """Return the report; machines that do not answer are named in it."""
    from artifactctl.reclaim.overview import take_overview
    from artifactctl.reclaim.reporting import prospects_on, take_report

    machines = every_machine_meant(wiring, hosts)
    accounts = account_each(wiring, machines, answered)
    silent = {name for name, _ in answered.missing}
    asked = tuple(machine for machine in machines if wiring.fleet.name_of(machine) not in silent)
    policy = policy_for(wiring)
    wiring.catalog  # noqa: B018 - opened once, before several threads ask for it

    def prospects(host: "Host") -> "tuple[Prospect, ...]":
        return prospects_on(workplace_of(wiring, host=host, policy=policy), looking_at=looking_at)

    found = answered.answers(wiring.fleet.each(asked, prospects), of=len(machines))
    together = [prospect for each in found for prospect in each]
    with wiring.catalog.reading() as reading:
        overview = take_overview(reading, volumes=accounts, unreachable=answered.missing, now=wiring.now())
    names = ", ".join(wiring.fleet.name_of(machine) for machine in machines)
    return take_report(wiring.catalog, overview, together, hostname=names, version=__version__)
