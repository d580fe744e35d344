"""`rescue`: first aid on a filling disk."""

import os
from typing import TYPE_CHECKING, cast

import click

from artifactctl.cli.options import PLACE, SIZE
from artifactctl.cli.shared_options import Command
from artifactctl.cli.which_machine import place_meant
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ArtifactctlError

if TYPE_CHECKING:
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.places import Place
    from artifactctl.rescue.knowledge import Knowledge
    from artifactctl.rescue.watching import FirstAidHost


@click.command(cls=Command)
@click.argument("path", type=PLACE, metavar="PATH|HOST:PATH")
@click.option("--need", type=SIZE, help="Say what would free so much, such as 40GiB.")
@click.option(
    "--seconds", type=click.FloatRange(min=1, max=3600), default=7, show_default=True, help="How long to look at it."
)
@pass_wiring
def rescue(wiring: Wiring, path: str, need: int | None, seconds: float) -> None:
    """Look at a filling disk: who writes, when it is full, what could go. Changes nothing.

    Needs no catalog and no set-up; PATH is a mount point or a folder. What it suggests asks before it does anything.
    """
    from artifactctl.inventory.homes import homes_here, homes_of
    from artifactctl.report.rescue import first_aid_text
    from artifactctl.report.rescue_payload import first_aid_payload
    from artifactctl.rescue.first_aid import Question, first_aid

    place = place_meant(wiring, path)
    host = _machine_at(wiring, place)
    question = Question(
        path=place.path,
        needed_bytes=need,
        seconds=seconds,
        catalog=wiring.choices.catalog or "",
        quiet=wiring.limits.quiet_time,
        homes=homes_here() if place.machine is None else homes_of(host),
        machine="" if place.machine is None else place.machine.name,
    )
    knowledge = _knowledge(wiring, host, place.path)
    with wiring.output.progress(None, "entries", "looking") as advance:
        clock = host.now if question.machine else wiring.now  # file times are compared with their machine's clock
        aid = first_aid(cast("FirstAidHost", host), question, knowledge, clock=clock, progress=advance)
    wiring.output.answer("rescue", payload=lambda: first_aid_payload(aid), text=lambda: first_aid_text(aid))
    for problem in aid.problems:
        wiring.output.warning(problem)


def _machine_at(wiring: Wiring, place: "Place") -> "Host":
    """Return the machine that is meant. This one is not `wiring.host`: that may write a machine id on a full disk."""
    if place.machine is not None or not wiring.is_linux:
        return wiring.fleet.reach(place.machine)
    from artifactctl.configuration.account import kept_machine_id
    from artifactctl.hosts.local import LocalHost

    return LocalHost(stand_in_machine_id=kept_machine_id(wiring.surroundings.environment))


def _knowledge(wiring: Wiring, host: "Host", path: bytes) -> "Knowledge":
    """Return what the catalog adds; one that cannot be read is no reason to refuse first aid."""
    from artifactctl.rescue.knowledge import Knowledge

    if not _may_have_catalog(wiring):
        return Knowledge()
    from artifactctl.cli.policy_choice import policy_if_readable
    from artifactctl.inventory.machines import roots_on_volume
    from artifactctl.rescue.consulting import read_knowledge

    try:
        catalog = wiring.catalog_if_any
        if catalog is None:
            return Knowledge()
        filesystem = host.usage(path).filesystem_uuid
        with catalog.reading() as reading:
            return read_knowledge(
                reading,
                roots_on_volume(reading, host.identify(), filesystem),
                now=wiring.now(),
                policy=policy_if_readable(wiring),
                clock_trusted=not catalog.clock_is_behind,
                uptime=host.uptime(),
            )
    except ArtifactctlError as failure:
        wiring.output.warning(f"the catalog is left out: {failure.message}")
        return Knowledge()


def _may_have_catalog(wiring: Wiring) -> bool:
    """Whether the catalog is worth loading the database for, which takes a second where every one counts."""
    place = wiring.location.location
    return "://" in str(place) or os.path.exists(place)
