"""Room for checkpoints: the planner's answer before the first, and a look before each.

The promise covers the checkpoints that stay and the one being written, as `plan training` reckons them. Before a
checkpoint the volume is looked at: where it would eat into what others were promised or into the reserve, the run waits
and says what to reclaim.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from artifactctl.api import Session
from artifactctl.api.admission import CapacityPlan, Fit, TrainingRequest
from artifactctl.api.wording import format_bytes
from artifactctl.domain.artifacts import Reservation
from artifactctl.domain.errors import Refused, UsageError
from extract.telling import Telling

LOOK_EVERY_SECONDS = 1.0


class CheckpointRoom:
    """Keeps the promise of one run."""

    def __init__(self, session: Session, folder: Path, name: str, telling: Telling) -> None:
        self._session = session
        self._folder = folder
        self._name = name
        self._telling = telling
        self._admission = session.admission(folder)
        self._purpose = f"training to {folder.absolute()}"
        self._promise: Reservation | None = None

    def admit(self, request: TrainingRequest) -> CapacityPlan:
        """Return the plan, its bytes promised; Refused, with what to reclaim, when it does not fit."""
        self.release()  # of a run that was killed here: what is left of it is planned anew
        plan = self._admission.plan(request)
        if plan.verdict is not Fit.FITS:
            raise Refused(
                f"{self._name} needs {format_bytes(plan.peak_bytes)} for checkpoints, "
                f"{format_bytes(max(0, plan.headroom_bytes))} may be used ({plan.limited_by})",
                remedy=self._what_to_reclaim(plan),
            )
        self._promise = self._session.reserve(
            self._folder,
            reserved_bytes=plan.peak_bytes,
            files=plan.files,
            purpose=self._purpose,
            until=self._admission.ends(plan),
        )
        return plan

    def before_checkpoint(self, size_bytes: int, request: TrainingRequest, should_stop: Callable[[], bool]) -> None:
        """Return when there is room for a checkpoint; Refused when somebody asks to stop while there is none."""
        is_waiting = False
        while self._admission.room(own=self._promise).headroom_bytes < size_bytes:
            if not is_waiting:
                is_waiting = True
                remedy = self._what_to_reclaim(self._admission.plan(request, own=self._promise))
                message = f"paused before a checkpoint of {format_bytes(size_bytes)}: to make room: {remedy}"
                self._telling.say("paused", message, needed_bytes=size_bytes)
            if should_stop():
                raise Refused(f"{self._name} waited for room for a checkpoint, and was stopped", remedy="train again")
            time.sleep(LOOK_EVERY_SECONDS)

    def written(self, size_bytes: int) -> None:
        """Shrink the promise by what is on disk now."""
        if self._promise is not None:
            self._session.fill_more(self._promise, added_bytes=size_bytes)

    def release(self) -> None:
        """Give back what is left of the promise."""
        for promise in self._admission.promises_for(self._purpose):
            with suppress(UsageError, Refused):  # over, or given back meanwhile
                self._session.release(promise)

    def _what_to_reclaim(self, plan: CapacityPlan) -> str:
        saved = self._admission.save(plan, name=f"training-{self._name}")
        if plan.verdict is Fit.FITS_AFTER_RECLAIM:
            return f"artifactctl reclaim --for {saved}    ({', '.join(offer.name for offer in plan.reclaim)})"
        return f"artifactctl reclaim --need {-(-plan.peak_bytes // 2**20)}MiB"
