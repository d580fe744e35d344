"""`demo`: the founding story, told on this machine."""

import sys
import time

import click

from artifactctl.cli.failures import silence_stdout
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring

FAREWELL = """
That was all of it, in {seconds:.0f} seconds; what the demonstration made is gone. On a volume of yours:

  artifactctl rescue /your/volume                    first aid when it is filling up; reads only, needs no set-up
  artifactctl init                                   make the catalog, once
  artifactctl root add /your/volume --name data      say where it may act
  artifactctl scan data                              see what is there
  artifactctl plan extraction --tokens 87.8M --volume data
  artifactctl reclaim --dry-run                      what could go, and why; writes nothing"""


@click.command(cls=Command, formats=())
@click.option(
    "--dir", "place", type=click.Path(exists=True, file_okay=False), help="Where to put its folder (default: TMPDIR)."
)
@pass_wiring
def demo(wiring: Wiring, place: str | None) -> None:
    """Tell the founding story on this machine, in a folder of its own that goes away again.

    As root, with loop devices and mkfs.xfs, on a real sparse volume of 12 TB; otherwise small, in a folder.
    """
    began = time.monotonic()
    try:
        _tell(wiring, place)
        click.echo(FAREWELL.format(seconds=time.monotonic() - began))
    except BrokenPipeError:
        silence_stdout()  # whoever listened has left; what was made is gone all the same


def _tell(wiring: Wiring, place: str | None) -> None:
    from pathlib import Path

    from artifactctl.demonstration import Storyteller, staged, stops_once, tell_founding_story

    is_rich = wiring.output.is_rich(sys.stdout)
    with stops_once(), staged(Path(place) if place else None) as stage:
        teller = Storyteller(
            write=click.echo,
            emphasise=lambda text: click.style(text, bold=True) if is_rich else text,
            encoding=sys.stdout.encoding or "utf-8",
            folder=stage.folder,
        )
        tell_founding_story(teller, stage)
