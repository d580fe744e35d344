"""`rescue`: first aid on a filling disk."""

import os
from typing import TYPE_CHECKING

import click

from artifactctl.cli.options import PATH, SIZE
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ArtifactctlError

if TYPE_CHECKING:
    from artifactctl.rescue.knowledge import Knowledge


@click.command(cls=Command)
@click.argument("path", type=PATH)
@click.option("--need", type=SIZE, help="Say what would free so much, such as 40GiB.")
@click.option(
    "--seconds", type=click.FloatRange(min=1, max=3600), default=7, show_default=True, help="How long to look at it."
)
@pass_wiring
def rescue(wiring: Wiring, path: bytes, need: int | None, seconds: float) -> None:
    """Look at a filling disk: who writes, when it is full, what could go. Changes nothing.

    Needs no catalog and no set-up; PATH is a mount point or a folder. What it suggests asks before it does anything.
    """
    from artifactctl.cli.surroundings import home_directories
    from artifactctl.hosts.local import LocalHost
    from artifactctl.report.rescue import first_aid_text
    from artifactctl.report.rescue_payload import first_aid_payload
    from artifactctl.rescue.first_aid import Question, first_aid

    # Not `wiring.host`: making that may write a machine id, and the disk may be full.
    host = LocalHost()
    question = Question(
        path=path,
        needed_bytes=need,
        seconds=seconds,
        catalog=wiring.choices.catalog or "",
        quiet=wiring.limits.quiet_time,
        homes=home_directories(),
    )
    knowledge = _knowledge(wiring, host.usage(path).filesystem_uuid)
    with wiring.output.progress(None, "entries", "looking") as advance:
        aid = first_aid(host, question, knowledge, clock=wiring.now, progress=advance)
    wiring.output.answer("rescue", payload=lambda: first_aid_payload(aid), text=lambda: first_aid_text(aid))
    for problem in aid.problems:
        wiring.output.warning(problem)


def _knowledge(wiring: Wiring, filesystem_uuid: str) -> "Knowledge":
    """Return what the catalog adds; one that cannot be read is no reason to refuse first aid."""
    from artifactctl.rescue.knowledge import Knowledge

    if not _may_have_catalog(wiring):
        return Knowledge()
    from artifactctl.cli.policy_choice import policy_if_readable
    from artifactctl.rescue.consulting import read_knowledge

    try:
        catalog = wiring.catalog_if_any
        if catalog is None:
            return Knowledge()
        with catalog.reading() as reading:
            return read_knowledge(
                reading,
                filesystem_uuid,
                now=wiring.now(),
                policy=policy_if_readable(wiring),
                clock_trusted=not catalog.clock_is_behind,
            )
    except ArtifactctlError as failure:
        wiring.output.warning(f"the catalog is left out: {failure.message}")
        return Knowledge()


def _may_have_catalog(wiring: Wiring) -> bool:
    """Whether the catalog is worth loading the database for, which takes a second where every one counts."""
    place = wiring.location.location
    return "://" in str(place) or os.path.exists(place)
