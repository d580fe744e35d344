"""What the words of `artifactctl reclaim` ask for, apart from what becomes of the plan."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from artifactctl.cli.options import ARTIFACT, PATH, SIZE
from artifactctl.cli.which_machine import host_option


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimChoices:
    """What was named, under which policy files, how much is needed, and what is given up; nothing where not said."""

    names: tuple[str, ...]
    on: str
    policy: tuple[bytes, ...]
    need: int | None
    for_plan: bytes | None
    waive: str
    purge_now: bool

    def retyped(self, *, reason: str, catalog: str | None) -> str:
        """Return the command that asks for the same."""
        words = ["artifactctl", "reclaim", *self.names]
        for option, value in (
            ("--catalog", catalog),
            ("--host", self.on or None),
            ("--for", self.for_plan),
            *(("--policy", p) for p in self.policy),
        ):
            words += [] if value is None else [option, os.fsdecode(value)]
        words += [] if self.need is None else ["--need", f"{self.need}B"]
        words += ["--purge-now"] if self.purge_now else []
        words += ["--waive", self.waive, "--reason", reason] if self.waive else []
        return shlex.join(words)


def reclaim_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options and hand their values over as one `wanted`."""

    def call(
        *arguments: Any,
        names: tuple[str, ...],
        on: str,
        policy: tuple[bytes, ...],
        need: int | None,
        for_plan: bytes | None,
        waive: str,
        purge_now: bool,
        **options: Any,
    ) -> Any:
        wanted = ReclaimChoices(
            names=names, on=on, policy=policy, need=need, for_plan=for_plan, waive=waive, purge_now=purge_now
        )
        return command(*arguments, wanted=wanted, **options)

    call.__doc__ = command.__doc__
    call.__name__ = command.__name__
    call.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    for option in reversed(_OPTIONS):
        call = option(call)
    return call


_OPTIONS = (
    click.argument("names", nargs=-1, type=ARTIFACT, metavar="[NAME|PATH|ROOT]..."),
    host_option,
    click.option(
        "--policy", type=PATH, multiple=True, help="Policy files for this run: a file, a folder, git:REV:PATH."
    ),
    click.option("--need", type=SIZE, help="Free so much with the least regret, such as 2TiB."),
    click.option("--for", "for_plan", type=PATH, help="Free what this saved capacity plan lacks."),
    click.option("--purge-now", is_flag=True, help="Purge in the same operation instead of keeping a quarantine."),
    click.option("--waive", metavar="GUARD,...", default="", help="Waive guards by name (needs --reason)."),
)
