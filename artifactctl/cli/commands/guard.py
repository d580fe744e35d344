"""`guard`: pause a running writer before the disk is full."""

import signal

import click

from artifactctl.cli.options import PLACE, SIZE
from artifactctl.cli.shared_options import Command
from artifactctl.cli.which_machine import host_option, place_meant
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ExitCode


@click.command("guard", cls=Command)
@click.option("--pid", type=click.IntRange(min=1), required=True, help="The job; what it started is paused with it.")
@click.option("--path", type=PLACE, required=True, metavar="DIR", help="A folder on the volume it writes to.")
@host_option
@click.option("--pause-below", type=SIZE, required=True, help="Pause it when less room than this is left.")
@click.option("--resume-above", type=SIZE, help="Let it go on above this (default: half as much again).")
@pass_wiring
def guard(wiring: Wiring, pid: int, path: str, on: str, pause_below: int, resume_above: int | None) -> None:
    """Pause a running job before the disk is full, and let it go on when there is room.

    With --host, or HOST:DIR, a job of that machine. Ends with 0 when the job ends. Ended itself by a signal, it lets
    the job go on, says so, and exits 130; when the connection is lost, the job goes on as well.
    """
    from artifactctl.cli.interrupt import stopping
    from artifactctl.cli.watching import watch_over
    from artifactctl.pausing.thresholds import Thresholds
    from artifactctl.report.pausing import result_payload, result_text

    place = place_meant(wiring, path, on=on)
    thresholds = Thresholds.of(pause_below, resume_above)
    with stopping() as request:
        former = signal.signal(
            signal.SIGHUP, request.note_signal
        )  # the terminal goes away: the job must not stay paused
        try:
            result = watch_over(wiring, pid, place, thresholds, should_stop=request)
        finally:
            signal.signal(signal.SIGHUP, former)
    wiring.output.answer("guard", payload=lambda: result_payload(result), text=lambda: [result_text(result)])
    raise SystemExit(int(ExitCode.DONE if result.end == "writer_ended" else ExitCode.INTERRUPTED))
