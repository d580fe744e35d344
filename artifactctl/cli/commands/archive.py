"""`archive`, `unarchive`: another copy somewhere else, verified by reading it back, and the way home."""

import click

from artifactctl.cli.options import ARTIFACT, RATE
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring


@click.command("archive", cls=Command)
@click.argument("name", type=ARTIFACT)
@click.option("--to", metavar="ROOT|PATH", help="Where the copy goes: a root, or a place below one.")
@click.option("--bandwidth", type=RATE, help="Copy at most so much a second, such as 200MiB/s.")
@pass_wiring
def archive(wiring: Wiring, name: str, to: str | None, bandwidth: int | None) -> None:
    """Copy an artifact to another root, and verify the copy by reading it back from there.

    Modes, times, links and holes are kept; owners are not: the copy belongs to whom its root belongs to. Only a copy
    that was read back and is the same counts as one, and it never removes the original. Stopped or interrupted, the
    same command goes on where it was.
    """
    from artifactctl.cli.archiving import carry_out_archive

    carry_out_archive(wiring, name, to=to, bandwidth_bytes=bandwidth)
