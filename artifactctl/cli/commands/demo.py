"""`demo`: the founding story, told on this machine or on another one."""

import sys
import time
from typing import TYPE_CHECKING

import click

from artifactctl.cli.failures import silence_stdout
from artifactctl.cli.options import HOST
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import UsageError

if TYPE_CHECKING:
    from artifactctl.domain.ledger import KnownHost

FAREWELL = """
That was all of it, in {seconds:.0f} seconds; what the demonstration made is gone. On a volume of yours:

  artifactctl rescue {on}/your/volume                    first aid when it is filling up; reads only, needs no set-up
  artifactctl init                                   make the catalog, once
  artifactctl root add {on}/your/volume --name data      say where it may act
  artifactctl scan data                              see what is there
  artifactctl plan extraction --tokens 87.8M --volume data
  artifactctl reclaim --dry-run                      what could go, and why; writes nothing"""


@click.command(cls=Command, formats=())
@click.option(
    "--dir", "place", type=click.Path(), help="Where to put its folder (default: TMPDIR), with --host a place there."
)
@click.option("--host", "on", type=HOST, default="", metavar="NAME", help="Tell it on this machine of the catalog.")
@pass_wiring
def demo(wiring: Wiring, place: str | None, on: str) -> None:
    """Tell the founding story on this machine, in a folder of its own that goes away again.

    As root, with loop devices and mkfs.xfs, on a real sparse volume of 12 TB; otherwise, and with --host, small, in a
    folder.
    """
    began = time.monotonic()
    try:
        _tell(wiring, place, on)
        farewell = FAREWELL.format(seconds=time.monotonic() - began, on=f"{on}:" if on else "")
        click.echo(farewell)
    except BrokenPipeError:
        silence_stdout()  # whoever listened has left; what was made is gone all the same


def _tell(wiring: Wiring, place: str | None, on: str) -> None:
    from artifactctl.demonstration import Storyteller, staged, staged_on, stops_once, tell_founding_story

    known = _machine(wiring, on) if on else None
    if known is not None and place is not None and not place.startswith("/"):
        raise UsageError(f"`{place}` is no absolute path on {on}", remedy=f"give a folder of {on}: --dir /data")
    is_rich = wiring.output.is_rich(sys.stdout)
    environment = wiring.surroundings.environment
    with stops_once(), staged_on(known, place, environment=environment) if known else staged(place) as stage:
        for folder in stage.left_before:
            wiring.output.warning(f"{folder} is left of an earlier story that was killed; nobody uses it, remove it")
        teller = Storyteller(
            write=click.echo,
            emphasise=lambda text: click.style(text, bold=True) if is_rich else text,
            encoding=sys.stdout.encoding or "utf-8",
            folder=stage.folder,
        )
        tell_founding_story(teller, stage)


def _machine(wiring: Wiring, name: str) -> "KnownHost | None":
    """Return a machine of the catalog, None for the one at hand; the catalog is let go before the story begins."""
    from artifactctl.inventory.places import machine_called

    with wiring.reading_if_any() as reading:
        return machine_called(reading, name, here=wiring.here)
