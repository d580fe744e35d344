"""Whether an extraction or a training run may begin and go on: the plan, the room there is, what could be given up."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from artifactctl.capacity.calibration import FinishedRun
from artifactctl.capacity.fit import Fit
from artifactctl.capacity.plans import ExtractionRequest, TrainingRequest, plan_extraction, plan_training
from artifactctl.capacity.presets import ModelShape, model_shape_from_config
from artifactctl.capacity.recipes import ExtractionRecipe, FileLayout
from artifactctl.capacity.verdict import CapacityPlan
from artifactctl.domain.artifacts import Reservation
from artifactctl.reclaim.relief import Giving, Relief

if TYPE_CHECKING:
    from artifactctl.catalog import Catalog
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.places import Here
    from artifactctl.policy.ruleset import Policy

__all__ = [
    "Admission",
    "CapacityPlan",
    "ExtractionRecipe",
    "ExtractionRequest",
    "FileLayout",
    "FinishedRun",
    "Fit",
    "Giving",
    "ModelShape",
    "Relief",
    "Room",
    "TrainingRequest",
    "model_shape_from_config",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a volume has left. `free_bytes`: until writes fail, quotas and thin pools counted, promises not.

    `headroom_bytes` leaves alone what others were promised and the volume's reserve; negative when those are short.
    """

    free_bytes: int
    headroom_bytes: int
    reserve_bytes: int
    limited_by: str
    mount: str


class Admission:
    """Asks for one place on this machine."""

    def __init__(
        self,
        catalog: "Catalog",
        host: "Host",
        place: bytes,
        *,
        here: "Here",
        policy: "Callable[[], Policy]",
        clock: Callable[[], datetime],
        actor: str,
        plans_folder: Path,
    ) -> None:
        self._catalog = catalog
        self._host = host
        self._place = place
        self._here = here
        self._policy = policy
        self._clock = clock
        self._actor = actor
        self._plans_folder = plans_folder

    def plan(
        self,
        request: ExtractionRequest | TrainingRequest,
        *,
        measured: FinishedRun | None = None,
        own: Reservation | None = None,
    ) -> CapacityPlan:
        """Return the plan of an extraction or a training run that starts, or goes on, now.

        `measured` is what a probe found, instead of finished runs; `own` is a promise that is not somebody else's.
        """
        from artifactctl.inventory.planning_capacity import PlanningWorld

        usage = self._host.usage(self._place)
        with self._catalog.reading() as reading:
            world = PlanningWorld(here=self._here, now=self._clock(), policy=self._policy(), reading=reading)
            headroom = world.headroom(usage, own_reservation_id="" if own is None else own.reservation_id)
            runs = world.runs() if measured is None else (measured,)
            candidates = world.candidates(self._host, usage)
            if isinstance(request, TrainingRequest):
                return plan_training(request, headroom=headroom, now=world.now, runs=runs, candidates=candidates)
            return plan_extraction(request, headroom=headroom, now=world.now, runs=runs, candidates=candidates)

    def room(self, *, own: Reservation | None = None) -> Room:
        """Return what is left now."""
        from artifactctl.capacity.headroom import measure_headroom

        usage, now = self._host.usage(self._place), self._clock()
        with self._catalog.reading() as reading:
            promised = reading.reservations(now, filesystem_uuid=usage.filesystem_uuid)
        headroom = measure_headroom(
            usage, reservations=promised, own_reservation_id="" if own is None else own.reservation_id
        )
        headroom_bytes, limited_by = headroom.binding(peak_bytes=1, files=1)
        return Room(
            free_bytes=headroom.bytes_until_full(peak_bytes=1, files=1),
            headroom_bytes=headroom_bytes,
            reserve_bytes=headroom.reserve_bytes,
            limited_by=limited_by,
            mount=os.fsdecode(usage.mount),
        )

    def relief(self) -> Relief:
        """Return what would free bytes here at once, what later, and what is kept and why; looks at the volume."""
        from artifactctl.inventory.machines import roots_on_volume
        from artifactctl.reclaim.relief import relief_on
        from artifactctl.reclaim.workplace import Workplace

        workplace = Workplace(
            catalog=self._catalog,
            host=self._host,
            policy=self._policy(),
            actor=self._actor,
            clock=self._clock,
            new_operation=lambda: "",
        )
        usage = self._host.usage(self._place)
        with self._catalog.reading() as reading:
            roots = roots_on_volume(reading, self._host.identify(), usage.filesystem_uuid)
        return relief_on(workplace, roots)

    def promises_for(self, purpose: str) -> tuple[Reservation, ...]:
        """Return what was promised on this volume for a purpose before and is still in force, oldest first."""
        volume = self._host.usage(self._place).filesystem_uuid
        with self._catalog.reading() as reading:
            promised = reading.reservations(self._clock(), filesystem_uuid=volume)
        found = [each for each in promised if each.purpose == purpose]
        return tuple(sorted(found, key=lambda each: (each.made_at, each.reservation_id)))

    def ends(self, plan: CapacityPlan) -> datetime:
        """Return until when a promise for the plan holds: some time after its planned end."""
        from artifactctl.inventory.reserving import expiry_of

        return expiry_of(plan)

    def save(self, plan: CapacityPlan, *, name: str) -> Path:
        """Keep a plan among the tool's own files, for `reclaim --for`; return where."""
        from artifactctl.catalog.publishing import partial_file, publish_over
        from artifactctl.report.capacity_plan import capacity_plan_payload
        from artifactctl.report.json_values import dump

        self._plans_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._plans_folder / f"{name.replace('/', '-')}.json"
        with partial_file(file) as partial:
            partial.write_text(dump("capacity-plan", capacity_plan_payload(plan)), encoding="utf-8")
            publish_over(partial, file)
        return file
