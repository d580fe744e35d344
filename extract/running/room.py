"""Room on the volume: the promise for the run, and the look before every shard.

- Before anything is written the planner is asked, with what a probe measured; what does not fit is refused.
- The promise covers what is still to come, is shared by all workers of a run, and shrinks as shards are finished.
- Before a shard: when it does not fit beside what others were promised and the volume's reserve (the low mark), the run
  waits, and says what to reclaim. When even the hard mark is passed, it stops; what is whole stays.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from artifactctl.api import Session
from artifactctl.api.admission import Admission, CapacityPlan, ExtractionRecipe, ExtractionRequest, FileLayout, Fit
from artifactctl.api.admission import Room as VolumeRoom
from artifactctl.api.wording import format_bytes
from artifactctl.domain.artifacts import Reservation
from artifactctl.domain.errors import Refused, UsageError
from extract.running.making_room import words_that_make_room
from extract.running.outcomes import Extraction, Stopped
from extract.running.probe import Probe
from extract.shards.writer import ShardPlan
from extract.telling import Telling

LOOK_EVERY_SECONDS = 1.0
_SMALLEST_SHARD_BYTES = 2**20
_AGAIN = "the same command again goes on from there"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a run still has to write: `tokens`, in shards that take at most `room_bytes` while they are written."""

    recipe: ExtractionRecipe
    plan: ShardPlan
    shard_bytes: int
    tokens: int
    room_bytes: int

    def request(self, codec_ratio: float) -> ExtractionRequest:
        """Return what the planner is asked; a shard's room is allocated uncoded and cut when it is finished."""
        layout = FileLayout(
            shard_bytes=max(_SMALLEST_SHARD_BYTES, self.shard_bytes), header_bytes=self.plan.header_room_bytes()
        )
        staging_bytes = round(self.room_bytes * max(0.0, 1 - codec_ratio))
        return ExtractionRequest(recipe=self.recipe, tokens=self.tokens, layout=layout, staging_bytes=staging_bytes)


class Keeper:
    """Keeps the promise of one run and looks before each shard."""

    def __init__(
        self,
        session: Session,
        wanted: Extraction,
        telling: Telling,
        should_stop: Callable[[], bool],
    ) -> None:
        self._session = session
        self._wanted = wanted
        self._telling = telling
        self._should_stop = should_stop
        self._spot = _nearest(wanted.out)
        self._admission: Admission = session.admission(self._spot)
        self._name = wanted.name or wanted.out.name
        self._purpose = f"extraction to {wanted.out.absolute()}"
        self._promise: Reservation | None = None
        self.paused_seconds = 0.0

    def admit(self, demand: Demand, probe: Probe) -> CapacityPlan:
        """Return the plan for what is left, its bytes promised; Refused, with what to reclaim, when it does not fit."""
        self._promise = next(iter(self._admission.promises_for(self._purpose)), None)
        plan = self._plan(demand, probe)
        if (
            self._promise is not None
        ):  # of a worker beside us, or of one that was killed: before a shard all is looked at
            return plan
        if plan.verdict is not Fit.FITS:
            raise Refused(
                f"{self._name} needs {format_bytes(plan.peak_bytes)} more on {self._mount(plan)}, "
                f"{format_bytes(max(0, plan.headroom_bytes))} may be used ({plan.limited_by})",
                remedy=self._what_to_reclaim(plan, next_shard_bytes=plan.shortfall_bytes),
            )
        mine = self._session.reserve(
            self._spot,
            reserved_bytes=plan.peak_bytes,
            files=plan.files,
            purpose=self._purpose,
            until=self._admission.ends(plan),
        )
        self._promise = self._admission.promises_for(self._purpose)[0]
        if self._promise.reservation_id != mine.reservation_id:  # another worker began at the same moment
            self._session.release(mine)
        return plan

    def before_shard(self, name: str, demand: Demand, probe: Probe, *, room_bytes: int) -> None:
        """Return when there is room for the next shard; wait for it while there is not. Stopped below the hard mark."""
        is_waiting = False
        begun = time.monotonic()
        while True:
            room = self._admission.room(own=self._promise)
            self._require_above_hard_mark(name, room, demand, probe, room_bytes)
            if not self._lacking_bytes(room, room_bytes):
                break
            if not is_waiting:
                self._say_waiting(name, room, demand, probe, room_bytes)
                is_waiting = True
            if self._should_stop():
                raise Stopped(f"stopped while {self._name} waited for room before {name}", remedy=_AGAIN)
            time.sleep(LOOK_EVERY_SECONDS)
        if is_waiting:
            waited = time.monotonic() - begun
            self.paused_seconds += waited
            self._telling.say(
                "resumed", f"going on with {name}: {format_bytes(room.headroom_bytes)} may be used", waited=waited
            )

    def written(self, size_bytes: int) -> None:
        """Shrink the promise by what is on disk now."""
        if self._promise is not None:
            self._session.fill_more(self._promise, added_bytes=size_bytes)

    def release(self) -> None:
        """Give back what is left of the promise; another worker may have done so before."""
        for promise in self._admission.promises_for(self._purpose):
            with suppress(UsageError, Refused):  # given back meanwhile
                self._session.release(promise)

    def _require_above_hard_mark(
        self, name: str, room: VolumeRoom, demand: Demand, probe: Probe, room_bytes: int
    ) -> None:
        stated = self._wanted.stop_below_bytes
        hard_bytes = room.reserve_bytes // 2 if stated is None else stated
        if room.free_bytes < hard_bytes:
            lacking_bytes = max(hard_bytes - room.free_bytes, self._lacking_bytes(room, room_bytes))
            make_room = self._what_to_reclaim(self._plan(demand, probe), next_shard_bytes=lacking_bytes)
            raise Stopped(
                f"stopped before {name}: {format_bytes(room.free_bytes)} are left on {room.mount}, less than the hard "
                f"mark of {format_bytes(hard_bytes)}; every shard that is there is whole",
                remedy=f"{make_room}; {_AGAIN}",
            )

    def _say_waiting(self, name: str, room: VolumeRoom, demand: Demand, probe: Probe, room_bytes: int) -> None:
        plan = self._plan(demand, probe)
        make_room = self._what_to_reclaim(plan, next_shard_bytes=self._lacking_bytes(room, room_bytes))
        self._telling.say(
            "paused",
            f"paused before {name}: it needs up to {format_bytes(room_bytes)}, {format_bytes(plan.demand_bytes)} are "
            f"still to come, {format_bytes(max(0, room.headroom_bytes))} may be used on {room.mount} "
            f"({room.limited_by})\n  to make room: {make_room}",
            shard=name,
            room_bytes=room_bytes,
            still_to_come_bytes=plan.demand_bytes,
            headroom_bytes=room.headroom_bytes,
            free_bytes=room.free_bytes,
        )

    def _plan(self, demand: Demand, probe: Probe) -> CapacityPlan:
        plan = self._admission.plan(demand.request(probe.codec_ratio), measured=probe.measured, own=self._promise)
        return plan if self._promise is None else replace(plan, reservation_id=self._promise.reservation_id)

    def _what_to_reclaim(self, plan: CapacityPlan, *, next_shard_bytes: int) -> str:
        """Return the words that make room now, or why nothing catalogued would; looks at the volume."""
        return words_that_make_room(
            self._admission.relief(),
            mount=self._mount(plan),
            lacking_bytes=plan.shortfall_bytes,
            next_shard_bytes=next_shard_bytes,
            plan_file=self._admission.save(plan, name=f"extraction-{self._name}"),
        )

    def _lacking_bytes(self, room: VolumeRoom, room_bytes: int) -> int:
        """Return what a shard lacks, by either mark."""
        low = self._wanted.pause_below_bytes
        return max(room_bytes - room.headroom_bytes, 0 if low is None else low + room_bytes - room.free_bytes, 0)

    @staticmethod
    def _mount(plan: CapacityPlan) -> str:
        return plan.mount.decode("utf-8", "surrogateescape")


def _nearest(place: Path) -> Path:
    """Return the place, or the folder around it that is there already: on the same volume."""
    absolute = place.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.exists())
