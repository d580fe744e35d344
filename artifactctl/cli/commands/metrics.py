"""`metrics`: figures for Prometheus."""

import os

import click

from artifactctl.cli.options import PATH
from artifactctl.cli.shared_options import Command
from artifactctl.cli.which_machine import Incomplete, every_machine_meant, hosts_option
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command("metrics", cls=Command)
@click.option("--textfile", type=PATH, metavar="DIR", help="Write DIR/artifactctl.prom for node_exporter instead.")
@hosts_option
@pass_wiring
def metrics(wiring: Wiring, textfile: bytes | None, hosts: tuple[str, ...]) -> None:
    """Print figures for Prometheus: bytes, volumes, quarantine, promises, last acts."""
    from artifactctl import __version__
    from artifactctl.cli.accounting import account_each
    from artifactctl.cli.saving import save_stream
    from artifactctl.reclaim.overview import take_overview
    from artifactctl.report.metrics import FILE_NAME, exposition, metrics_of, metrics_payload

    answered = Incomplete(wiring)
    accounts = account_each(wiring, every_machine_meant(wiring, hosts), answered)
    with wiring.catalog.reading() as reading:
        overview = take_overview(reading, volumes=accounts, unreachable=answered.missing, now=wiring.now())
    found = metrics_of(overview, version=__version__)
    if textfile is not None:
        save_stream(os.path.join(textfile, FILE_NAME.encode()), [exposition(found)])
        raise SystemExit(int(answered.exit_code()))
    wiring.output.answer(
        "metrics", payload=lambda: metrics_payload(found), text=lambda: [exposition(found).removesuffix("\n")]
    )
    raise SystemExit(int(answered.exit_code()))
