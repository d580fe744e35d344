"""A capacity plan survives being saved, and nothing else is read as one."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from capacity_volumes import GIB, NOON, TIB, candidate, volume

from artifactctl.capacity import (
    NO_RESERVE,
    ExtractionRecipe,
    ExtractionRequest,
    TrainingRequest,
    capacity_plan_from_json,
    capacity_plan_to_json,
    measure_headroom,
    plan_extraction,
    plan_running,
    plan_training,
    preset,
)
from artifactctl.domain.errors import UsageError

FIELDS_OF_THE_CONTRACT = {
    "verdict": str,
    "bytes_per_token": int,
    "tokens": int,
    "demand_bytes": int,
    "headroom_bytes": int,
    "headroom_after_bytes": int,
    "shortfall_bytes": int,
    "peak_bytes": int,
    "limited_by": str,
    "duration_seconds": float,
    "full_at": str,
    "basis": str,
    "alternatives": list,
    "reclaim": list,
}


def headroom(available_bytes: int, mount: bytes = b"/data"):
    return measure_headroom(volume(available_bytes=available_bytes, mount=mount), reserve=NO_RESERVE)


def plan(available_bytes: int = 3000 * GIB, mount: bytes = b"/data"):
    return plan_extraction(
        ExtractionRequest(recipe=ExtractionRecipe(shape=preset("kimi-k2.5"), layers=(2, 30, 58)), tokens=87_800_000),
        headroom=headroom(available_bytes, mount),
        now=NOON,
        candidates=[candidate("old", 924 * GIB, superseded=True, available_at=NOON + timedelta(hours=3))],
    )


def through_json(saved: dict) -> object:
    return json.loads(json.dumps(saved))


def test_the_fields_of_the_contract_are_there_with_their_types():
    saved = capacity_plan_to_json(plan())

    assert saved["schema"] == "artifactctl.capacity-plan/1"
    assert {name: type(saved[name]) for name in FIELDS_OF_THE_CONTRACT} == FIELDS_OF_THE_CONTRACT
    assert saved["reclaim"] == [
        {
            "name": "old",
            "allocated_bytes": 924 * GIB,
            "freed_bytes": 924 * GIB,
            "available_at": "2026-03-01T15:00:00Z",
        }
    ]


@pytest.mark.parametrize(
    "original",
    [
        plan(),
        plan(12 * TIB),
        plan(GIB),
        plan(mount=b"/data/\xff\xfe"),
        replace(plan(), reservation_id="r-17"),
        plan_training(TrainingRequest(draft_parameters=2_600_000_000, keep=3), headroom=headroom(TIB), now=NOON),
        plan_running(remaining_bytes=7, bytes_per_second=3.0, headroom=headroom(5), now=NOON),
        plan_running(remaining_bytes=7, bytes_per_second=None, headroom=headroom(5), now=NOON),
    ],
    ids=["after reclaim", "fits", "does not fit", "odd mount", "reserved", "training", "running", "no rate"],
)
def test_a_saved_plan_reads_back_as_it_was(original):
    assert capacity_plan_from_json(through_json(capacity_plan_to_json(original))) == original


def test_a_mount_that_is_not_utf8_has_its_bytes_beside_it():
    saved = capacity_plan_to_json(plan(mount=b"/data/\xff"))

    assert saved["mount"] == "/data/\udcff"
    assert saved["mount_b64"] == "L2RhdGEv/w=="


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "fits"},
        {"verdict": "perhaps"},
        {"schema": "artifactctl.capacity-plan/2"},
        {"schema": None},
        {"demand_bytes": 1},
        {"demand_bytes": 1.5},
        {"demand_bytes": "7"},
        {"demand_bytes": True},
        {"peak_bytes": -1},
        {"peak_bytes": 1},
        {"headroom_bytes": 99 * TIB},
        {"headroom_after_bytes": 0},
        {"shortfall_bytes": 0},
        {"duration_seconds": float("nan")},
        {"duration_seconds": float("inf")},
        {"duration_seconds": -5},
        {"made_at": "yesterday"},
        {"made_at": "2026-03-01T12:00:00"},
        {"made_at": "2026-03-01T14:00:00+02:00"},
        {"mount": "\ud800"},
        {"reclaim": []},
        {"reclaim": [{"name": "old"}]},
        {"reclaim": {"name": "old"}},
        {"parts": []},
        {"alternatives": [7]},
        {"tokens": -1},
        {"fits_from": None},
        {"extra": 1},
        {"mount_b64": "L2RhdGEv"},
    ],
    ids=str,
)
def test_a_plan_that_was_edited_is_refused(change):
    with pytest.raises(UsageError) as refusal:
        capacity_plan_from_json({**capacity_plan_to_json(plan()), **change})

    assert "artifactctl plan" in refusal.value.remedy


@pytest.mark.parametrize("field", sorted(capacity_plan_to_json(plan())))
def test_a_plan_that_lacks_a_field_is_refused(field):
    saved = capacity_plan_to_json(plan())
    del saved[field]

    with pytest.raises(UsageError):
        capacity_plan_from_json(saved)


@pytest.mark.parametrize("document", [None, [], "plan", 7, {}, {"schema": ["artifactctl.capacity-plan/1"]}])
def test_anything_else_is_no_plan(document):
    with pytest.raises(UsageError):
        capacity_plan_from_json(document)


def test_a_further_field_inside_a_row_is_refused():
    saved = capacity_plan_to_json(plan())
    saved["reclaim"][0]["force"] = True

    with pytest.raises(UsageError, match="reclaim"):
        capacity_plan_from_json(saved)
