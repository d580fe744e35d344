"""`leave`: what exists only on a machine that goes away, and whether it can be saved in time."""

from datetime import datetime, timedelta

import click

from artifactctl.cli.options import FUTURE, RATE, instant_of
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ExitCode


@click.command("leave", cls=Command)
@click.argument("host", metavar="HOST")
@click.option("--by", required=True, type=FUTURE, help="When the machine goes away: 2026-12-01T18:00Z, or 6h.")
@click.option("--rate", type=RATE, help="How fast bytes leave it, such as 80MiB/s (default: as measured so far).")
@click.option("--to", metavar="ROOT|URL", help="Where to save to, for the commands to paste.")
@pass_wiring
def leave(wiring: Wiring, host: str, by: datetime | timedelta, rate: int | None, to: str | None) -> None:
    """Say what exists only on a machine, in which order to save it, and whether there is time; exits 3 when not.

    What nobody can rebuild comes first, then what is dearest to make again for its size. What has a verified copy
    elsewhere may stay. It says what the catalog knows and looks at nothing.
    """
    from artifactctl.archiving.leaving import destinations, leaving_plan, machine_named, require_elsewhere
    from artifactctl.capacity.leaving import LeavingVerdict
    from artifactctl.report.leaving import leaving_document, leaving_payload

    now = wiring.now()
    until = instant_of(by, now=now)
    assert until is not None, "--by is required"
    with wiring.catalog.reading() as reading:
        machine = machine_named(reading, host, wiring.identity)
        if to is not None:
            require_elsewhere(reading, machine, to, here=wiring.here)
        others = destinations(reading, machine)
        plan = leaving_plan(reading, machine, by=until, given_bytes_a_second=rate, now=now)
    wiring.output.answer(
        "leave",
        payload=lambda: leaving_payload(plan, to=to, destinations=others),
        text=lambda: leaving_document(plan, to=to, destinations=others),
    )
    fits = plan.verdict is not LeavingVerdict.DOES_NOT_FIT
    raise SystemExit(int(ExitCode.DONE if fits else ExitCode.CHECK_FAILED))
