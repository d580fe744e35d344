"""Limits over a whole plan, over a day, over a kind; and when somebody else must agree."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.ledger import Taken
from artifactctl.domain.plans import CapName
from artifactctl.policy.capping import Load, Past, caps_on, taken_by
from artifactctl.policy.ruleset import Limits
from artifactctl.reclaim.bounds import why_approval, within_caps

GIB = 1 << 30
LOOSE = Limits(max_bytes=1 << 50, max_artifacts=1000)
CHECKPOINT, MODEL = ArtifactKind.CHECKPOINT, ArtifactKind.MODEL


def loads(count: int, *, size: int = GIB, kind: ArtifactKind = CHECKPOINT) -> list[Load]:
    return [Load(artifact_id=number, kind=kind, allocated_bytes=size) for number in range(count)]


def said(limits: Limits, past: Past | None = None, count: int = 4) -> str:
    evidence = within_caps(caps_on(loads(count), limits, past or Past()))
    return "" if evidence.permits_removal else evidence.reason


@pytest.mark.parametrize(
    ("limits", "past", "reason"),
    [
        (replace(LOOSE, max_bytes=4 * GIB), Past(), ""),
        (replace(LOOSE, max_bytes=3 * GIB), Past(), "4.00 GiB would go, 1.00 GiB above the limit of 3.00 GiB a run"),
        (
            replace(LOOSE, max_artifacts=3),
            Past(),
            "4 artifacts would go, 1 artifact above the limit of 3 artifacts a run",
        ),
        (
            replace(LOOSE, max_bytes_per_day=5 * GIB),
            Past(today=Taken(bytes=2 * GIB, artifacts=1)),
            "with the 2.00 GiB of before 6.00 GiB would go today (UTC), 1.00 GiB above the limit of 5.00 GiB a day",
        ),
        (
            replace(LOOSE, max_artifacts_per_day=5),
            Past(today=Taken(bytes=0, artifacts=2)),
            "with the 2 artifacts of before 6 artifacts would go today (UTC), 1 artifact above the limit "
            "of 5 artifacts a day",
        ),
        (
            replace(LOOSE, max_share_of_kind=0.3),
            Past(living={CHECKPOINT: 10}),
            "4 of the 10 living artifacts of the kind checkpoint would go (40%), "
            "1 artifact above the limit of 3 artifacts",
        ),
        (replace(LOOSE, max_share_of_kind=0.4), Past(living={CHECKPOINT: 10}), ""),
        (replace(LOOSE, max_share_of_kind=0.3), Past(living={CHECKPOINT: 9}), ""),
    ],
    ids=["exactly", "bytes", "artifacts", "bytes a day", "artifacts a day", "share", "share exactly", "nine of a kind"],
)
def test_a_run_over_a_limit_is_refused_and_says_by_how_much(limits: Limits, past: Past, reason: str) -> None:
    assert said(limits, past) == reason


def test_two_copies_of_one_artifact_are_one_of_its_kind() -> None:
    twice = [replace(load, artifact_id=7) for load in loads(2)]

    caps = caps_on(twice, replace(LOOSE, max_share_of_kind=0.1), Past(living={CHECKPOINT: 10}))

    assert [(cap.used, cap.limit) for cap in caps if cap.name is CapName.SHARE_OF_KIND] == [(1, 1)]


bounds = st.none() | st.integers(0, 12)
limit_values = st.builds(
    Limits,
    max_bytes=st.integers(0, 12),
    max_artifacts=st.integers(0, 12),
    max_bytes_per_day=bounds,
    max_artifacts_per_day=bounds,
    max_share_of_kind=st.none() | st.floats(0, 1),
)
pasts = st.builds(
    Past,
    today=st.builds(Taken, bytes=st.integers(0, 9), artifacts=st.integers(0, 9)),
    living=st.fixed_dictionaries({CHECKPOINT: st.integers(0, 20), MODEL: st.integers(0, 20)}),
)
load_lists = st.lists(
    st.builds(
        Load,
        artifact_id=st.integers(1, 15),
        kind=st.sampled_from([CHECKPOINT, MODEL]),
        allocated_bytes=st.integers(0, 4),
    ),
    max_size=10,
)


@given(data=st.data(), limits=limit_values, past=pasts, taken=load_lists)
def test_tightening_a_cap_never_allows_more(data: st.DataObject, limits: Limits, past: Past, taken: list[Load]) -> None:
    name = data.draw(st.sampled_from(["max_bytes", "max_artifacts", "max_bytes_per_day", "max_artifacts_per_day"]))
    present = getattr(limits, name)
    tighter = replace(limits, **{name: data.draw(st.integers(0, 12 if present is None else present))})
    if limits.max_share_of_kind is not None and data.draw(st.booleans()):
        tighter = replace(tighter, max_share_of_kind=data.draw(st.floats(0, limits.max_share_of_kind)))

    allowed = within_caps(caps_on(taken, tighter, past)).permits_removal

    assert not allowed or within_caps(caps_on(taken, limits, past)).permits_removal


@given(limits=limit_values, past=pasts, taken=load_lists, more=load_lists)
def test_taking_more_is_never_allowed_where_less_is_not(
    limits: Limits, past: Past, taken: list[Load], more: list[Load]
) -> None:
    allowed = within_caps(caps_on([*taken, *more], limits, past)).permits_removal

    assert not allowed or within_caps(caps_on(taken, limits, past)).permits_removal


ASKING = replace(LOOSE, approval_above_bytes=3 * GIB, approval_on_jump=2.0)


def reasons(count: int, *runs: tuple[int, int], limits: Limits = ASKING) -> list[str]:
    last_runs = [Taken(bytes=size * GIB, artifacts=number) for size, number in runs]
    return [reason.partition(" and ")[0] for reason in why_approval(taken_by(loads(count)), limits, last_runs)]


def test_the_default_asks_nobody_to_agree() -> None:
    assert reasons(900, (1, 1), limits=LOOSE) == []


def test_above_a_size_somebody_else_must_agree() -> None:
    assert reasons(3) == []
    assert reasons(4) == ["it takes 4.00 GiB,"]


def test_a_jump_against_the_largest_of_the_last_runs_needs_consent() -> None:
    assert reasons(2, (1, 1), (0, 1)) == []
    assert reasons(3, (1, 1), (0, 1)) == [
        "3.00 GiB is more than 2 times what the last 2 runs took at most (1.00 GiB)",
        "3 artifacts are more than 2 times what the last 2 runs took at most (1)",
    ]
    assert reasons(3, (1, 9)) == ["3.00 GiB is more than 2 times what the last run took at most (1.00 GiB)"]
    assert reasons(3, (9, 2)) == []
    assert reasons(3) == [], "there is nothing to compare a first run with"
