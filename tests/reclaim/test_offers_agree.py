"""What a capacity plan lists as reclaimable is what `reclaim` offers, as long as the disk is what the catalog says."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from artifactctl.catalog.indexed_reading import IndexedReading
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState, RunState
from artifactctl.domain.errors import Refused
from artifactctl.inventory import rulings
from artifactctl.inventory.candidates import trust_in
from artifactctl.inventory.giving_up import reclaim_candidates
from artifactctl.policy.ruleset import Matcher, Protect
from artifactctl.reclaim.preparing import Wish, prepare
from tests.reclaim.ground import Ground

ROLES = (
    LineageRole.EXTRACTED_FROM,
    LineageRole.TRAINED_ON,
    LineageRole.MERGED_FROM,
    LineageRole.MAPPED_WITH,
    LineageRole.RESUMED_FROM,
)


def listed(ground: Ground) -> set[str]:
    with ground.catalog.reading() as reading:
        roots = reading.roots()
        trust = trust_in(reading, now=ground.now())
        found = reclaim_candidates(reading, roots, policy=ground.policy, trust=trust, now=ground.now())
    return {candidate.name for candidate in found if not candidate.set_aside}


def offered(ground: Ground) -> set[str]:
    try:
        return {step.name for step in prepare(ground.workplace, Wish()).steps}
    except Refused:
        return set()


def test_hidden_states_with_a_living_corpus_are_listed_without_any_recorded_run(ground: Ground) -> None:
    assert listed(ground) == offered(ground) == {"hidden-old"}


def test_what_a_listed_thing_would_be_built_again_from_is_not_listed(ground: Ground) -> None:
    ground.artifact("response", kind=ArtifactKind.RESPONSE_SET)
    ground.link("corpus", "response", LineageRole.MERGED_FROM)
    ground.verify("hidden-old")

    assert listed(ground) == offered(ground) == {"hidden-old"}


def test_what_is_superseded_by_something_verified_is_listed(ground: Ground) -> None:
    ground.artifact("model-old", kind=ArtifactKind.MODEL)
    ground.artifact("model-new", kind=ArtifactKind.MODEL)
    ground.supersede("model-old", "model-new")
    assert "model-old" not in listed(ground) | offered(ground)

    ground.verify("model-new")

    assert listed(ground) == offered(ground) == {"hidden-old", "model-old"}


def test_what_is_held_is_not_listed(ground: Ground) -> None:
    with ground.catalog.writing("ada@node-1", ground.now()) as writing:
        writing.place_hold(ground.known("hidden-old").artifact_id, reason="for the paper", until=None)

    assert listed(ground) == offered(ground) == set()


def test_protecting_what_was_built_from_it_lets_the_input_of_it_no_sooner_go(ground: Ground) -> None:
    ground.artifact("response", kind=ArtifactKind.RESPONSE_SET)
    ground.link("corpus", "response", LineageRole.MERGED_FROM)
    ground.verify("hidden-old")
    released = Protect(name="released", reason="Shipped to serving", match=Matcher(names=("hidden-*",)))
    ground.policy = replace(ground.policy, protects=(released,))

    assert listed(ground) == offered(ground) == set()


def test_in_a_catalog_whose_lineage_nobody_confirmed_nothing_is_listed(ground: Ground) -> None:
    with ground.catalog.writing("ada@node-1", ground.now()) as writing:
        writing.raise_epoch(ground.catalog.epoch + 1)

    assert listed(ground) == set()


def random_world(ground: Ground, seed: int) -> None:
    dice = random.Random(seed)
    kinds = list(ArtifactKind)
    names = []
    for number in range(7):
        name = f"a{number}"
        ground.artifact(name, kind=dice.choice(kinds), shards=1)
        for parent in dice.sample(names, k=min(len(names), dice.randrange(3))):
            ground.link(name, parent, dice.choice(ROLES))
        if names and dice.random() < 0.3:
            ground.supersede(dice.choice(names), name)
        if dice.random() < 0.6:
            ground.verify(name)
        names.append(name)
    with ground.catalog.writing("ada@node-1", ground.now()) as writing:
        for name in names:
            number = ground.known(name).artifact_id
            if dice.random() < 0.1:
                writing.place_hold(number, reason="kept", until=None)
            if dice.random() < 0.1:
                writing.add_run("extraction", state=RunState.RUNNING, outputs=(number,))
    if dice.random() < 0.5 and offered(ground):
        ground.quarantine(*sorted(offered(ground))[:1])


@pytest.mark.parametrize("rows_for_one", [100, 0])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_lineage_both_offer_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, rows_for_one: int
) -> None:
    monkeypatch.setattr(rulings, "_QUESTIONS_OF_EACH", rows_for_one)  # all at once from memory, or one by one
    ground = Ground(folder=tmp_path)
    try:
        random_world(ground, seed)

        assert listed(ground) == offered(ground)
        same_answers(ground)
    finally:
        ground.close()


def same_answers(ground: Ground) -> None:
    """Everything the index answers is what the database answers."""
    with ground.catalog.reading() as reading:
        indexed, now = IndexedReading(reading), ground.now()
        for chosen in ({}, {"state": ReplicaState.LIVE}, {"numbers": (1, 3, 4)}, {"kind": ArtifactKind.CHECKPOINT}):
            assert indexed.artifacts(**chosen) == reading.artifacts(**chosen)
        for artifact in reading.artifacts():
            number, ids = artifact.artifact_id, (artifact.artifact_id,)
            assert indexed.artifact(artifact.name) == reading.artifact(artifact.name)
            assert indexed.artifact_by_id(number) == reading.artifact_by_id(number)
            assert indexed.parents(number) == reading.parents(number)
            assert indexed.children(number) == reading.children(number)
            assert indexed.runs(artifact_id=number) == reading.runs(artifact_id=number)
            assert indexed.holds(artifact_ids=ids) == reading.holds(artifact_ids=ids)
            assert indexed.leases(now, artifact_ids=ids) == reading.leases(now, artifact_ids=ids)
        for relative in (b"", b"a1", b"a1/shard-0", b"a1/deeper/still", b"nothing"):
            for question in ("artifacts_above", "artifacts_below"):
                answers = (getattr(each, question)("root-1", relative) for each in (indexed, reading))
                assert len({frozenset(artifact.name for artifact in answer) for answer in answers}) == 1


def test_what_is_superseded_goes_before_what_was_built_from_it(ground: Ground) -> None:
    ground.artifact("hidden-new")
    ground.supersede("hidden-old", "hidden-new")
    ground.verify("hidden-new")
    ground.artifact("step-1", kind=ArtifactKind.CHECKPOINT)
    ground.link("step-1", "hidden-old", LineageRole.TRAINED_ON)
    ground.verify("step-1")

    assert listed(ground) == offered(ground) == {"hidden-old"}
