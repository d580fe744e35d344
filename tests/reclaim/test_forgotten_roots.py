"""A root that was forgotten: what lies there is nobody's copy any more, and whoever forgets it is told."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState
from artifactctl.domain.operations import StepOutcome
from artifactctl.domain.verdicts import Verdict
from artifactctl.inventory.failures import LastCopies
from artifactctl.inventory.forgetting import forget_root, last_copies
from artifactctl.reclaim.preparing import Wish, prepare
from tests.reclaim.ground import Ground, grounds
from tests.reclaim.second_root import second_copy, second_root


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Ground]:
    """`dump` twice on one machine, in `data` and `other`, verified, with nothing that it could be built from."""
    for ground in grounds(tmp_path):
        ground.artifact("dump", kind=ArtifactKind.RESPONSE_SET)
        ground.verify("dump")
        second_copy(ground, second_root(ground), "dump")
        yield ground


def forget(ground: Ground, name: str, *giving_up: str) -> tuple[str, ...]:
    _, last = forget_root(ground.catalog, name, now=ground.now(), actor="ada@node-1", giving_up=giving_up)
    return tuple(copy.name for copy in last)


def _forget_quietly(ground: Ground) -> None:
    forget(ground, "other", "dump")


def named(ground: Ground, name: str, root: str) -> Wish:
    artifact = ground.known(name)
    return Wish(chosen=((artifact, next(r for r in artifact.replicas if r.root.name == root)),))


def test_a_copy_in_a_forgotten_root_does_not_let_the_other_one_go(pair: Ground) -> None:
    before = prepare(pair.workplace, named(pair, "dump", "data"))
    forget(pair, "other")

    after = prepare(pair.workplace, named(pair, "dump", "data"))
    applied = pair.apply(before)

    assert [step.name for step in before.steps] == ["dump"]
    assert not after.steps
    (evidence,) = [e for e in after.refused[0].evidence if e.guard == "recoverable"]
    assert evidence.verdict is Verdict.UNKNOWN
    assert "`other` counts no more, since that root was forgotten" in evidence.reason
    assert [step.outcome for step in applied.steps] == [StepOutcome.REFUSED]


def test_a_copy_that_was_set_aside_is_not_purged_when_the_root_of_the_other_one_was_forgotten(pair: Ground) -> None:
    pair.apply(prepare(pair.workplace, named(pair, "dump", "data")))
    forget(pair, "other", "dump")

    (purged,) = pair.purge().steps

    assert purged.outcome is StepOutcome.REFUSED
    assert [e.guard for e in purged.evidence if not e.permits_removal] == ["recoverable"]


def test_the_root_of_the_copy_that_a_removal_relied_on_is_forgotten_only_by_name(pair: Ground) -> None:
    pair.apply(prepare(pair.workplace, named(pair, "dump", "data")))
    pair.purge()

    with pytest.raises(LastCopies, match="dump: another copy of it was removed") as refused:
        forget(pair, "other")
    given_up = forget(pair, "other", "dump")

    assert "archive dump" in refused.value.remedy
    assert given_up == ("dump",)


def test_a_root_of_which_everything_is_elsewhere_is_forgotten_without_a_word(pair: Ground) -> None:
    assert forget(pair, "data") == ()


def test_a_last_verified_copy_on_which_nothing_relied_is_told(pair: Ground) -> None:
    forget(pair, "data")

    with pair.catalog.reading() as reading:
        (told,) = last_copies(reading, "other")

    assert (told.name, told.relied_on) == ("dump", "")
    assert told.allocated_bytes > 10_000
    assert forget(pair, "other") == ("dump",)


@pytest.mark.parametrize("relation", ["successor", "input"])
def test_what_replaced_or_can_rebuild_something_removed_is_relied_on(ground: Ground, relation: str) -> None:
    kept, gone = ("book", "hs") if relation == "input" else ("hs-new", "hs")
    ground.artifact(kept, kind=ArtifactKind.MERGED_CORPUS if relation == "input" else ArtifactKind.HIDDEN_STATES)
    ground.artifact(gone)
    if relation == "input":
        ground.link(gone, kept, LineageRole.EXTRACTED_FROM)
    else:
        ground.verify(kept)
        ground.supersede(gone, kept)
    ground.quarantine(gone)
    ground.purge()
    assert ground.state(gone) is ReplicaState.GONE

    with pytest.raises(LastCopies, match=f"{kept}: {gone}, which"):
        forget(ground, "data")

    assert forget(ground, "data", kept) == (kept,)


def test_nothing_below_a_forgotten_root_is_planned_to_go(pair: Ground) -> None:
    forget(pair, "other")
    wish = named(pair, "dump", "other")

    plan = prepare(pair.workplace, replace(wish, waivers=("recoverable",), waiver_reason="given up"))

    assert not plan.steps
    (evidence,) = [e for e in plan.refused[0].evidence if e.guard == "confined"]
    assert "was forgotten" in evidence.reason


def test_a_root_that_is_added_again_brings_its_copies_back(pair: Ground) -> None:
    with pair.catalog.reading() as reading:
        other = reading.root("other")
    assert other is not None
    forget(pair, "other")
    with pair.catalog.writing("ada@node-1", pair.now()) as writing:
        writing.add_root(other)

    assert [step.name for step in prepare(pair.workplace, named(pair, "dump", "data")).steps] == ["dump"]


def test_a_root_that_is_forgotten_between_the_look_at_its_copy_and_the_purge_stops_that(pair: Ground) -> None:
    pair.apply(prepare(pair.workplace, named(pair, "dump", "data")))
    pair.machine.points.after_call("contents", lambda: _forget_quietly(pair))

    (purged,) = pair.purge().steps

    assert purged.outcome is StepOutcome.REFUSED
    assert [e.guard for e in purged.evidence if not e.permits_removal] == ["recoverable"]


def test_once_a_purge_has_begun_the_root_of_the_other_copy_is_forgotten_only_by_name(pair: Ground) -> None:
    pair.apply(prepare(pair.workplace, named(pair, "dump", "data")))
    refused: list[LastCopies] = []

    def race() -> None:
        with pytest.raises(LastCopies) as last:
            forget(pair, "other")
        refused.append(last.value)

    pair.machine.points.before_call("begin_purge", race)
    (purged,) = pair.purge().steps

    assert purged.outcome is StepOutcome.PURGED
    assert len(refused) == 1
    assert pair.known("dump").is_live
