"""`report`: the whole stock at one instant, for people."""

import click

from artifactctl.cli.options import PATH
from artifactctl.cli.shared_options import Command
from artifactctl.cli.which_machine import Incomplete, hosts_option
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command("report", cls=Command)
@click.option("--out", type=PATH, metavar="FILE.html", help="Write one HTML file that needs nothing else to be read.")
@hosts_option
@pass_wiring
def report(wiring: Wiring, out: bytes | None, hosts: tuple[str, ...]) -> None:
    """Report on the whole stock: volumes, what could go and why not, quarantine, holds, lineage, events.

    Asks every guard about every artifact, as `why` does, and changes nothing. The HTML file has no scripts and loads
    nothing.
    """
    from artifactctl.cli.reporting import report_on
    from artifactctl.cli.saving import save_stream
    from artifactctl.report.page import page
    from artifactctl.report.stock_report import stock_report_payload, stock_report_text

    answered = Incomplete(wiring)
    with wiring.output.progress(None, "artifacts", "looking") as advance:
        taken = report_on(wiring, hosts, answered, looking_at=lambda name: advance(1))
    if out is not None:
        save_stream(out, [page(taken)])
    else:
        wiring.output.answer(
            "report", payload=lambda: stock_report_payload(taken), text=lambda: stock_report_text(taken)
        )
    raise SystemExit(int(answered.exit_code()))
