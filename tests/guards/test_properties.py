"""What must hold for every combination of guards, candidates and observations (invariants I3 and I4)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.errors import UsageError
from artifactctl.domain.verdicts import Clearance, Evidence, Verdict, may_remove
from artifactctl.guards import HARD, WAIVABLE, evaluate, standard_guards
from artifactctl.guards.standard import check_waivers
from tests.builders import FINGERPRINT, NOON, a_candidate, an_observation
from tests.guards.test_each_guard import CASES

worlds = st.lists(st.sampled_from(CASES), max_size=4)
waiver_lists = st.lists(st.sampled_from((*WAIVABLE, *HARD)), max_size=4)
guard_lists = st.lists(st.sampled_from(standard_guards()), min_size=1, max_size=8)


def world_of(cases: list[Any]) -> tuple[Any, Any]:
    """Lay several cases over one another; the later one wins where they touch the same fact."""
    candidate: dict[str, Any] = {}
    observation: dict[str, Any] = {}
    for _, _, more_candidate, more_observation, _ in cases:
        candidate.update(more_candidate)
        observation.update(more_observation)
    return a_candidate(**candidate), an_observation(**observation)


@given(base=guard_lists, extra=guard_lists, cases=worlds, waivers=waiver_lists)
def test_adding_a_guard_never_makes_an_artifact_removable(
    base: list[Any], extra: list[Any], cases: list[Any], waivers: list[str]
) -> None:
    candidate, observation = world_of(cases)

    with_more = may_remove(evaluate([*base, *extra], candidate, observation, waivers=waivers))

    assert not with_more or may_remove(evaluate(base, candidate, observation, waivers=waivers))


@given(cases=worlds)
def test_unknown_never_removes(cases: list[Any]) -> None:
    evidence = evaluate(standard_guards(), *world_of(cases))

    if any(item.verdict is Verdict.UNKNOWN for item in evidence):
        assert not may_remove(evidence)


@given(cases=worlds, waivers=waiver_lists)
def test_a_waiver_lifts_only_the_waivable_guards_it_names(cases: list[Any], waivers: list[str]) -> None:
    evidence = evaluate(standard_guards(), *world_of(cases), waivers=waivers)

    for item in evidence:
        assert item.waived is (item.guard in waivers and item.guard in WAIVABLE and item.verdict is not Verdict.CLEAR)


def test_no_guards_are_an_error_and_no_evidence_permits_nothing() -> None:
    with pytest.raises(ValueError, match="no guards"):
        evaluate((), a_candidate(), an_observation())
    assert not may_remove(())


@pytest.mark.parametrize("name", HARD)
def test_a_hard_guard_cannot_be_waived(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be waived by anybody"):
        check_waivers([name])


def test_a_clearance_cannot_be_made_from_evidence_that_is_not_clear() -> None:
    clear = Evidence(guard="no_hold", verdict=Verdict.CLEAR, reason="free")
    values: dict[str, Any] = {
        "operation": "op",
        "replica_id": 1,
        "fingerprint": FINGERPRINT,
        "granted_at": NOON,
        "expires_at": NOON,
    }

    Clearance(evidence=(clear,), **values)

    for bad in ((), (clear, replace(clear, verdict=Verdict.UNKNOWN)), (replace(clear, verdict=Verdict.BLOCKED),)):
        with pytest.raises(ValueError, match="no clearance"):
            Clearance(evidence=bad, **values)
