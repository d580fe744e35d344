"""What a capacity plan that was saved earlier lacks today."""

import json
import os
from datetime import datetime
from pathlib import Path

from artifactctl.capacity import CapacityPlan, capacity_plan_from_json, lacking_bytes, measure_headroom
from artifactctl.catalog import Catalog
from artifactctl.domain.errors import HostFailure, Refused, UsageError
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host


def lacking_now(host: Host, catalog: Catalog, path: bytes, *, now: datetime) -> tuple[CapacityPlan, int]:
    """Return the plan in the file and the bytes it lacks against today's headroom; 0: nothing needs to be given up.

    UsageError for a file that is no capacity plan, Refused when its volume is not mounted where it was.
    """
    plan = read_capacity_plan(path)
    try:
        usage = host.usage(plan.mount)
    except HostFailure as error:
        raise Refused(error.message, remedy="mount the volume of the plan, or plan again") from error
    if usage.filesystem_uuid != plan.filesystem_uuid:
        raise Refused(
            f"at {display_path(plan.mount)} is another filesystem than the capacity plan was made for",
            remedy="mount the volume of the plan, or plan again",
        )
    with catalog.reading() as reading:
        promised = reading.reservations(now)
    headroom = measure_headroom(usage, reservations=promised, own_reservation_id=plan.reservation_id)
    return plan, lacking_bytes(plan, headroom)


def read_capacity_plan(path: bytes) -> CapacityPlan:
    """Return the capacity plan in a file; UsageError when it holds none."""
    return capacity_plan_from_json(_read(path))


def _read(path: bytes) -> object:
    shown = display_path(path)
    try:
        return json.loads(Path(os.fsdecode(path)).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"the capacity plan {shown} cannot be read: {error.strerror}", remedy="`artifactctl plan … --out FILE`"
        ) from error
    except ValueError as error:
        raise UsageError(f"{shown} is not JSON", remedy="give what `artifactctl plan … --out FILE` wrote") from error
