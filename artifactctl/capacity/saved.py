"""A capacity plan as one JSON object: what `plan --json` prints, `plan --out` saves and `reclaim --for` reads back.

Reading is strict: the file must be exactly what this version would write for the plan it describes, derived figures
included, so a plan that was edited by hand or truncated is refused instead of half believed.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NoReturn, TypeVar

from artifactctl.capacity.calibration import Basis
from artifactctl.capacity.demand import DemandPart, Stage, StagingElsewhere
from artifactctl.capacity.fit import Fit
from artifactctl.capacity.verdict import Alternative, CapacityPlan, ReclaimOffer
from artifactctl.domain.errors import UsageError

T = TypeVar("T")

SCHEMA = "artifactctl.capacity-plan/1"

_REMEDY = "make the plan again with `artifactctl plan … --out FILE` and do not edit it"


def capacity_plan_to_json(plan: CapacityPlan) -> dict[str, object]:
    """Return the plan as JSON values: bytes as integers, times as RFC 3339 UTC, durations in seconds."""
    written: dict[str, object] = {
        "schema": SCHEMA,
        "verdict": plan.verdict.value,
        "stage": plan.stage.value,
        "recipe": plan.recipe,
        "made_at": _instant(plan.made_at),
        "mount": plan.mount.decode("utf-8", "surrogateescape"),
        "filesystem_uuid": plan.filesystem_uuid,
        "tokens": plan.tokens,
        "bytes_per_token": plan.bytes_per_token,
        "demand_bytes": plan.demand_bytes,
        "peak_bytes": plan.peak_bytes,
        "files": plan.files,
        "headroom_bytes": plan.headroom_bytes,
        "headroom_after_bytes": plan.headroom_after_bytes,
        "shortfall_bytes": plan.shortfall_bytes,
        "available_bytes": plan.available_bytes,
        "promised_bytes": plan.promised_bytes,
        "reserve_bytes": plan.reserve_bytes,
        "limited_by": plan.limited_by,
        "duration_seconds": None if plan.duration is None else plan.duration.total_seconds(),
        "peak_at": _instant(plan.peak_at),
        "full_at": _instant(plan.full_at),
        "finishes_at": _instant(plan.finishes_at),
        "fits_from": _instant(plan.fits_from),
        "basis": plan.basis.value,
        "basis_note": plan.basis_note,
        "parts": [{"name": part.name, "part_bytes": part.part_bytes} for part in plan.parts],
        "elsewhere": [{"volume": scratch.volume, "staging_bytes": scratch.staging_bytes} for scratch in plan.elsewhere],
        "alternatives": [_alternative(alternative) for alternative in plan.alternatives],
        "reclaim": [_offer(offer) for offer in plan.reclaim],
        "reservation": plan.reservation_id or None,
    }
    if plan.host_key:
        written |= {"host": plan.host, "machine_id": plan.machine_id, "host_key": plan.host_key}
    if not _is_utf8(plan.mount):
        written["mount_b64"] = b64encode(plan.mount).decode("ascii")
    return written


def capacity_plan_from_json(document: object) -> CapacityPlan:
    """Return the plan that a parsed JSON document describes; `UsageError` on what we would not have written."""
    if not isinstance(document, dict):
        raise UsageError("a capacity plan is one JSON object", remedy=_REMEDY)
    schema = document.get("schema")
    if schema != SCHEMA:
        raise UsageError(f"this is no capacity plan: its schema is `{schema}`, not `{SCHEMA}`", remedy=_REMEDY)
    try:
        plan = _Reader(document, place="the capacity plan").plan()
    except (ValueError, OverflowError) as problem:
        raise UsageError(f"the capacity plan contradicts itself: {problem}", remedy=_REMEDY) from problem
    expected = capacity_plan_to_json(plan)
    for key in sorted({*expected, *(str(key) for key in document)}):
        if key not in expected:
            raise UsageError(f"the capacity plan has an unknown field `{key}`", remedy=_REMEDY)
        if key not in document or document[key] != expected[key]:
            raise UsageError(f"the field `{key}` of the capacity plan does not follow from the others", remedy=_REMEDY)
    return plan


def _alternative(alternative: Alternative) -> dict[str, object]:
    return {
        "name": alternative.name,
        "verdict": alternative.verdict.value,
        "tokens": alternative.tokens,
        "demand_bytes": alternative.demand_bytes,
        "peak_bytes": alternative.peak_bytes,
        "basis": alternative.basis.value,
        "note": alternative.note,
    }


def _offer(offer: ReclaimOffer) -> dict[str, object]:
    return {
        "name": offer.name,
        "allocated_bytes": offer.allocated_bytes,
        "freed_bytes": offer.freed_bytes,
        "available_at": _instant(offer.available_at),
    }


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _is_utf8(path: bytes) -> bool:
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class _Reader:
    """Typed access to one JSON object; names the field when it is not what it should be."""

    def __init__(self, table: Mapping[str, object], *, place: str) -> None:
        self._table = table
        self._place = place

    def plan(self) -> CapacityPlan:
        return CapacityPlan(
            verdict=Fit(self._text("verdict")),
            stage=Stage(self._text("stage")),
            recipe=self._text("recipe"),
            made_at=self._moment("made_at"),
            mount=self._text("mount").encode("utf-8", "surrogateescape"),
            filesystem_uuid=self._text("filesystem_uuid"),
            tokens=self._optional("tokens", self._count),
            bytes_per_token=self._optional("bytes_per_token", self._count),
            demand_bytes=self._count("demand_bytes"),
            peak_bytes=self._count("peak_bytes"),
            files=self._count("files"),
            headroom_bytes=self._integer("headroom_bytes"),
            available_bytes=self._integer("available_bytes"),
            promised_bytes=self._count("promised_bytes"),
            reserve_bytes=self._count("reserve_bytes"),
            limited_by=self._text("limited_by"),
            duration=self._optional("duration_seconds", self._seconds),
            peak_at=self._optional("peak_at", self._moment),
            full_at=self._optional("full_at", self._moment),
            basis=Basis(self._text("basis")),
            basis_note=self._text("basis_note"),
            parts=self._each(
                "parts", lambda row: DemandPart(name=row._text("name"), part_bytes=row._count("part_bytes"))
            ),
            elsewhere=self._each(
                "elsewhere",
                lambda row: StagingElsewhere(volume=row._text("volume"), staging_bytes=row._count("staging_bytes")),
            ),
            alternatives=self._each("alternatives", _Reader._read_alternative),
            reclaim=self._each("reclaim", _Reader._read_offer),
            reservation_id=self._optional("reservation", self._text) or "",
            host=self._text("host") if "host" in self._table else "",
            machine_id=self._text("machine_id") if "machine_id" in self._table else "",
            host_key=self._text("host_key") if "host_key" in self._table else "",
        )

    def _read_alternative(self) -> Alternative:
        return Alternative(
            name=self._text("name"),
            verdict=Fit(self._text("verdict")),
            tokens=self._optional("tokens", self._count),
            demand_bytes=self._count("demand_bytes"),
            peak_bytes=self._count("peak_bytes"),
            basis=Basis(self._text("basis")),
            note=self._text("note"),
        )

    def _read_offer(self) -> ReclaimOffer:
        return ReclaimOffer(
            name=self._text("name"),
            allocated_bytes=self._count("allocated_bytes"),
            freed_bytes=self._count("freed_bytes"),
            available_at=self._moment("available_at"),
        )

    def _value(self, key: str) -> object:
        if key not in self._table:
            self._refuse(key, "is missing")
        return self._table[key]

    def _text(self, key: str) -> str:
        value = self._value(key)
        if not isinstance(value, str):
            self._refuse(key, "is not text")
        return value

    def _integer(self, key: str) -> int:
        value = self._value(key)
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse(key, "is not a whole number")
        return value

    def _count(self, key: str) -> int:
        value = self._integer(key)
        if value < 0:
            self._refuse(key, "is negative")
        return value

    def _seconds(self, key: str) -> timedelta:
        value = self._value(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
            self._refuse(key, "is not a number of seconds")
        return timedelta(seconds=value)

    def _moment(self, key: str) -> datetime:
        moment = datetime.fromisoformat(self._text(key))
        if moment.tzinfo is None:
            self._refuse(key, "has no time zone")
        return moment.astimezone(UTC)

    def _optional(self, key: str, read: Callable[[str], T]) -> T | None:
        return None if self._value(key) is None else read(key)

    def _each(self, key: str, read: Callable[["_Reader"], T]) -> tuple[T, ...]:
        rows = self._value(key)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            self._refuse(key, "is not a list of objects")
        return tuple(read(_Reader(row, place=f"entry {at} of `{key}`")) for at, row in enumerate(rows, 1))

    def _refuse(self, key: str, problem: str) -> NoReturn:
        raise UsageError(f"the field `{key}` of {self._place} {problem}", remedy=_REMEDY)
