"""`doctor`: is everything as the catalog says, and what to do where it is not."""

import click

from artifactctl.cli.shared_options import Command, if_given
from artifactctl.cli.which_machine import hosts_option
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ExitCode


@click.command("doctor", cls=Command, changes=if_given("repair"))
@click.option(
    "--repair", is_flag=True, help="Finish what was interrupted; confirm a restored catalog, or what is lost."
)
@hosts_option
@pass_wiring
def doctor(wiring: Wiring, hosts: tuple[str, ...], *, repair: bool) -> None:
    """Compare catalog and disk, and explain unfinished operations; exits 3 when something is wrong.

    Looks on every machine that has roots for roots that are not there, artifacts that vanished, interrupted operations
    and what recovery will do, space held by deleted files, a broken audit chain, a wrong clock and a restored catalog
    that nobody has confirmed.
    """
    from artifactctl.cli.examining import examine_everything
    from artifactctl.report.doctor import doctor_document, doctor_payload

    findings, repaired = examine_everything(wiring, hosts, repair=repair)
    wiring.output.answer(
        "doctor",
        payload=lambda: doctor_payload(findings, repaired=repaired),
        text=lambda: doctor_document(findings, repaired=repaired),
    )
    raise SystemExit(int(ExitCode.CHECK_FAILED if findings else ExitCode.DONE))
