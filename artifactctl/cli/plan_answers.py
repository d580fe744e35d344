"""What the plan commands share: the volume, the world a plan is made from, and how its answer ends the command."""

import os
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from artifactctl.cli.options import PATH
from artifactctl.cli.saving import save_text
from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from artifactctl.capacity.timeline import StageSpan
    from artifactctl.capacity.verdict import CapacityPlan
    from artifactctl.domain.observation import VolumeUsage
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.planning_capacity import PlanningWorld
    from artifactctl.inventory.tree_growth import Growth

PLAN_SCHEMA_NAME = "capacity-plan"

volume_option = click.option(
    "--volume", metavar="VOLUME", help="A root name, a path, HOST:PATH, or a filesystem UUID (also ARTIFACTCTL_VOLUME)."
)
reserve_option = click.option("--reserve", is_flag=True, help="Promise the space to this stage, if it fits.")
out_option = click.option("--out", type=PATH, help="Save the plan to this file, for `reclaim --for`.")


@contextmanager
def planning_world(wiring: Wiring) -> Iterator["PlanningWorld"]:
    """Yield the world as it is; without a catalog there are just no promises, runs and candidates."""
    from artifactctl.cli.policy_choice import policy_for
    from artifactctl.inventory.planning_capacity import PlanningWorld

    with wiring.reading_if_any() as reading:
        yield PlanningWorld(here=wiring.here, now=wiring.now(), policy=policy_for(wiring), reading=reading)


def answer_plan(
    wiring: Wiring, host: "Host", plan: "CapacityPlan", usage: "VolumeUsage", *, out: bytes | None, reserve: bool
) -> None:
    """Reserve, save and print the plan; end with 3 when it does not fit."""
    if reserve:
        plan = _reserved(wiring, host, plan, usage)
    _save(plan, out)
    _print(wiring, plan)
    _end(plan)


def answer_running(wiring: Wiring, plan: "CapacityPlan", growth: "Growth", *, out: bytes | None) -> None:
    """Save and print the plan of a running job with what was measured; end with 3 when it does not fit."""
    from artifactctl.report.sizes import format_bytes_both, format_rate

    rate = growth.bytes_per_second
    _save(plan, out)
    how = " on average, in bursts" if growth.from_history else ""
    speed = "nothing was written while it was watched" if rate is None else f"growing by {format_rate(rate)}{how}"
    _print(
        wiring,
        plan,
        extra={"written_bytes": growth.written_bytes, "bytes_per_second": rate, "problems": list(growth.problems)},
        lines=(f"written so far: {format_bytes_both(growth.written_bytes)}, {speed}",),
    )
    for problem in growth.problems:
        wiring.output.warning(f"not read: {problem}")
    _end(plan)


def answer_pipeline(wiring: Wiring, plans: Sequence["CapacityPlan"], spans: Sequence["StageSpan"]) -> None:
    """Print a pipeline; end with 3 when one of its volumes is too small."""
    from artifactctl.report.capacity_plan import pipeline_payload, pipeline_text

    wiring.output.answer(
        "capacity-pipeline", payload=lambda: pipeline_payload(plans, spans), text=lambda: pipeline_text(plans, spans)
    )
    if any(plan.verdict == "does_not_fit" for plan in plans):
        raise SystemExit(ExitCode.CHECK_FAILED)


def read_toml(path: bytes) -> dict[str, Any]:
    """Return the content of a TOML file; UsageError when it cannot be read as one."""
    place = Path(os.fsdecode(path))
    try:
        return tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{place} cannot be read: {error}", remedy="give a TOML file with [[stage]] tables") from error


def _reserved(wiring: Wiring, host: "Host", plan: "CapacityPlan", usage: "VolumeUsage") -> "CapacityPlan":
    from dataclasses import replace

    from artifactctl.inventory.reserving import reserve_for

    if plan.verdict != "fits":
        wiring.output.warning("nothing is reserved, since it does not fit as things are")
        return plan
    promised = reserve_for(wiring.catalog, host, plan, usage, acting=wiring.acting_on(host))
    return replace(plan, reservation_id=promised.reservation_id)


def _save(plan: "CapacityPlan", out: bytes | None) -> None:
    from artifactctl.report.capacity_plan import capacity_plan_payload
    from artifactctl.report.json_values import dump

    if out is not None:
        save_text(out, dump(PLAN_SCHEMA_NAME, capacity_plan_payload(plan)))


def _print(
    wiring: Wiring, plan: "CapacityPlan", *, extra: dict[str, object] | None = None, lines: Sequence[str] = ()
) -> None:
    from artifactctl.report.capacity_plan import capacity_plan_payload, capacity_plan_text

    wiring.output.answer(
        PLAN_SCHEMA_NAME,
        payload=lambda: {**capacity_plan_payload(plan), **(extra or {})},
        text=lambda: [*capacity_plan_text(plan), *lines],
    )


def _end(plan: "CapacityPlan") -> None:
    if plan.verdict == "does_not_fit":
        raise SystemExit(ExitCode.CHECK_FAILED)
