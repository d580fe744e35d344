"""What policies see of the catalog: each fact from the rows that say it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest

from artifactctl.catalog import Catalog, Writing
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, ReplicaState, RunState, VerifyLevel
from artifactctl.policy.facts import ChildFacts, Facts
from artifactctl.policy.scope import Needed, Wanted
from tests.builders import NOON

EVERYTHING = (Wanted(),)
Place = Callable[..., Artifact]
Write = Callable[[], AbstractContextManager[Writing]]


@pytest.fixture
def seen(catalog: Catalog) -> Callable[..., dict[str, Facts]]:
    """Return what policies see, by name."""

    def look(scope: tuple[Wanted, ...] = EVERYTHING, **options: Any) -> dict[str, Facts]:
        with catalog.reading() as reading:
            return {facts.name: facts for facts in reading.policy_facts(scope, now=NOON, **options)}

    return look


def verify(writing: Writing, artifact: Artifact, fingerprint: str = "print-1") -> None:
    replica = artifact.replicas[0]
    writing.set_verified(replica.replica_id, VerifyLevel.HEADERS, fingerprint, ok=True)


def copy(writing: Writing, artifact: Artifact, relative: bytes, state: ReplicaState) -> None:
    writing.add_replica(
        artifact.artifact_id,
        "root-1",
        relative,
        is_directory=True,
        files=3,
        apparent_bytes=300,
        allocated_bytes=4096,
        member_digest="members",
        fingerprint="print-1",
        observed_at=NOON,
        state=state,
    )


def test_a_plain_artifact_has_its_place_its_bytes_and_nothing_else(place: Place, seen: Any) -> None:
    made = place("states")

    assert seen() == {
        "states": Facts(
            artifact_id=made.artifact_id,
            name="states",
            kind=ArtifactKind.HIDDEN_STATES,
            created_at=NOON,
            path="/data/states",
            root="data",
            allocated_bytes=12_288,
        )
    }


def test_a_path_that_is_not_utf_8_keeps_its_bytes(place: Place, seen: Any) -> None:
    place("states", relative=b"st\xe4tes")

    assert seen()["states"].path == "/data/st\udce4tes"


def test_what_has_no_bytes_anywhere_is_not_seen(place: Place, seen: Any) -> None:
    place("gone", state=ReplicaState.GONE)
    place("archived", state=ReplicaState.ARCHIVED)
    place("missing", state=ReplicaState.MISSING)

    found = seen()

    assert set(found) == {"missing"}
    assert (found["missing"].live, found["missing"].path, found["missing"].copies) == (False, "", 0)


def test_a_copy_below_a_forgotten_root_is_nobody_s(place: Place, write: Write, seen: Any) -> None:
    place("states")
    with write() as writing:
        writing.forget_root("root-1")

    assert seen() == {}


@pytest.mark.parametrize(
    ("state", "live", "complete", "copies"),
    [
        (ReplicaState.LIVE, True, True, 2),
        (ReplicaState.BUILDING, False, False, 1),
        (ReplicaState.QUARANTINING, False, True, 1),
        (ReplicaState.QUARANTINED, True, True, 1),
        (ReplicaState.PURGING, False, True, 1),
        (ReplicaState.RESTORING, False, True, 1),
        (ReplicaState.ARCHIVING, False, True, 1),
        (ReplicaState.ARCHIVED, True, True, 1),
        (ReplicaState.GONE, True, True, 1),
        (ReplicaState.MISSING, True, True, 1),
    ],
)
def test_a_second_copy_counts_while_it_lives(
    place: Place, write: Write, seen: Any, state: ReplicaState, *, live: bool, complete: bool, copies: int
) -> None:
    made = place("states")
    with write() as writing:
        copy(writing, made, b"second", state)

    facts = seen()["states"]

    assert (facts.live, facts.complete, facts.copies) == (live, complete, copies)
    assert facts.allocated_bytes == 12_288 + (4096 if copies == 2 else 0)
    assert facts.path == "/data/states"


def test_an_artifact_whose_writer_is_not_finished_is_not_complete(place: Place, write: Write, seen: Any) -> None:
    made = place("states")
    with write() as writing:
        writing.update_artifact(made.artifact_id, sealed=False)

    assert not seen()["states"].complete


def test_a_copy_counts_as_verified_only_with_the_fingerprint_that_was_verified(
    place: Place, write: Write, seen: Any
) -> None:
    for name, fingerprint in (("same", "print-1"), ("changed", "print-0")):
        made = place(name)
        with write() as writing:
            verify(writing, made, fingerprint)

    assert {name: facts.verified_copies for name, facts in seen().items()} == {"same": 1, "changed": 0}


def test_holds_and_leases_count_while_they_are_in_force(place: Place, write: Write, seen: Any) -> None:
    held, released, leased, expired = (place(name) for name in ("held", "released", "leased", "expired"))
    with write() as writing:
        writing.place_hold(held.artifact_id, reason="mine", until=NOON - timedelta(days=1))
        writing.release_hold(writing.place_hold(released.artifact_id, reason="was mine").hold_id, reason="done")
        for made, expires_at in ((leased, NOON + timedelta(hours=1)), (expired, NOON)):
            writing.grant_lease(made.artifact_id, owner="ada", host="here", expires_at=expires_at)

    assert {name for name, facts in seen().items() if facts.held} == {"held"}
    assert {name for name, facts in seen().items() if facts.leased} == {"leased"}


def test_a_run_says_who_made_an_artifact_and_who_still_reads_it(place: Place, write: Write, seen: Any) -> None:
    states, draft = place("states"), place("draft", kind=ArtifactKind.CHECKPOINT)
    with write() as writing:
        writing.add_run("training", state=RunState.FAILED, outputs=[draft.artifact_id])
        last = writing.add_run("training", inputs=[states.artifact_id], outputs=[draft.artifact_id])

    found = seen()

    assert (found["draft"].run, found["draft"].run_state) == (str(last.run_id), RunState.RUNNING)
    assert found["states"].input_of_unfinished_run
    assert (found["states"].run, found["states"].run_state) == ("", None)
    with write() as writing:
        writing.finish_run(last.run_id, state=RunState.SUCCEEDED, finished_at=NOON)
    assert not seen()["states"].input_of_unfinished_run


def test_a_checkpoint_without_a_recorded_run_belongs_to_its_folder(place: Place, seen: Any) -> None:
    place("c1", kind=ArtifactKind.CHECKPOINT, relative=b"ckpts/r1/step-1")

    facts = seen()["c1"]

    assert (facts.run, facts.run_state) == ("/data/ckpts/r1", None)


def test_the_newest_measurement_counts_and_the_step_is_a_whole_number(place: Place, write: Write, seen: Any) -> None:
    made, odd = place("c1", kind=ArtifactKind.CHECKPOINT), place("c2", kind=ArtifactKind.CHECKPOINT)
    noted = place("c3", kind=ArtifactKind.CHECKPOINT)
    with write() as writing:
        for value, hours in ((2.0, 2), (3.0, 1), (1.0, 5)):
            writing.add_measurement(made.artifact_id, "eval/x", value, measured_at=NOON - timedelta(hours=hours))
        writing.add_measurement(made.artifact_id, "step", 1000.0)
        writing.add_measurement(odd.artifact_id, "step", 0.5)
        writing.update_artifact(noted.artifact_id, details={"step": "70"})

    found = seen()

    assert found["c1"].metrics == (("eval/x", 3.0), ("step", 1000.0))
    assert {name: facts.step for name, facts in found.items()} == {"c1": 1000, "c2": None, "c3": 70}


def test_children_are_living_and_verified_as_their_copies_are(place: Place, write: Write, seen: Any) -> None:
    parent = place("states")
    good, unverified, gone = (place(name, kind=ArtifactKind.CHECKPOINT) for name in ("good", "unverified", "gone"))
    with write() as writing:
        verify(writing, good)
        verify(writing, gone)
        writing.change_state(gone.replicas[0].replica_id, expected=(ReplicaState.LIVE,), to=ReplicaState.MISSING)
        for child in (good, unverified, gone):
            writing.add_lineage(child.artifact_id, parent.artifact_id, LineageRole.TRAINED_ON)

    assert seen()["states"].children == tuple(
        ChildFacts(
            name=name, kind=ArtifactKind.CHECKPOINT, role=LineageRole.TRAINED_ON, living=living, verified=verified
        )
        for name, living, verified in (("gone", False, False), ("good", True, True), ("unverified", True, False))
    )


def test_a_successor_is_named_and_verified_only_while_it_lives(place: Place, write: Write, seen: Any) -> None:
    old, new = place("old"), place("new")
    with write() as writing:
        writing.supersede(old.artifact_id, new.artifact_id)

    def successor() -> tuple[bool, str, ArtifactKind | None, bool]:
        facts = seen()["old"]
        return facts.superseded, facts.successor, facts.successor_kind, facts.successor_verified

    assert successor() == (True, "new", ArtifactKind.HIDDEN_STATES, False)
    with write() as writing:
        verify(writing, new)
    assert successor() == (True, "new", ArtifactKind.HIDDEN_STATES, True)
    with write() as writing:
        writing.change_state(new.replicas[0].replica_id, expected=(ReplicaState.LIVE,), to=ReplicaState.MISSING)
    assert successor() == (True, "new", ArtifactKind.HIDDEN_STATES, False)


@pytest.mark.parametrize(
    ("kinds", "living", "rebuildable"),
    [
        ((), True, False),
        ((ArtifactKind.MODEL,), True, False),
        ((ArtifactKind.MERGED_CORPUS, ArtifactKind.MODEL), True, True),
        ((ArtifactKind.MERGED_CORPUS, ArtifactKind.MODEL), False, False),
    ],
)
def test_what_can_be_built_again_has_a_recipe_and_living_inputs(
    place: Place, write: Write, seen: Any, kinds: tuple[ArtifactKind, ...], *, living: bool, rebuildable: bool
) -> None:
    states = place("states")
    inputs = [place(kind.value, kind=kind) for kind in kinds]
    with write() as writing:
        for parent in inputs:
            writing.add_lineage(states.artifact_id, parent.artifact_id, LineageRole.EXTRACTED_FROM)
        if not living:
            writing.change_state(
                inputs[-1].replicas[0].replica_id, expected=(ReplicaState.LIVE,), to=ReplicaState.MISSING
            )

    assert seen()["states"].rebuildable is rebuildable


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ((), set()),
        (EVERYTHING, {"a/states", "b/draft"}),
        ((Wanted(kinds=(ArtifactKind.CHECKPOINT,)),), {"b/draft"}),
        ((Wanted(names=("a/states",)),), {"a/states"}),
        ((Wanted(prefixes=("b/",)), Wanted(names=("nobody",))), {"b/draft"}),
        ((Wanted(prefixes=("_/",)),), set()),
        ((Wanted(created_until=NOON - timedelta(seconds=1)),), set()),
        ((Wanted(created_until=NOON),), {"a/states", "b/draft"}),
        ((Wanted(created_after=NOON),), set()),
        ((Wanted(kinds=(ArtifactKind.CHECKPOINT,), names=("a/states",)),), set()),
    ],
)
def test_only_what_is_in_the_scope_is_read(place: Place, seen: Any, scope: tuple[Wanted, ...], names: set[str]) -> None:
    place("a/states")
    place("b/draft", kind=ArtifactKind.CHECKPOINT)

    assert set(seen(scope)) == names


def test_what_is_superseded_and_what_has_inputs_is_found_by_that(place: Place, write: Write, seen: Any) -> None:
    corpus, old, new = place("corpus", kind=ArtifactKind.MERGED_CORPUS), place("old"), place("new")
    with write() as writing:
        writing.supersede(old.artifact_id, new.artifact_id)
        writing.add_lineage(new.artifact_id, corpus.artifact_id, LineageRole.EXTRACTED_FROM)

    assert seen((Wanted(superseded=True),)) == {"old": seen()["old"]}
    assert seen((Wanted(has_inputs=True, kinds=(ArtifactKind.HIDDEN_STATES,)),))["new"] == seen()["new"]
    assert "corpus" not in seen((Wanted(has_inputs=True),))
    assert set(seen((Wanted(superseded=True, kinds=(ArtifactKind.CHECKPOINT,)),))) == set()


def test_an_artifact_that_was_asked_for_is_seen_outside_the_scope(place: Place, seen: Any) -> None:
    place("states")
    made = place("draft", kind=ArtifactKind.CHECKPOINT)

    assert set(seen((), also=[made.artifact_id])) == {"draft"}


def test_facts_of_a_part_are_the_same_as_facts_of_everything(place: Place, write: Write, seen: Any) -> None:
    corpus, states = place("corpus", kind=ArtifactKind.MERGED_CORPUS), place("states")
    draft = place("draft", kind=ArtifactKind.CHECKPOINT)
    with write() as writing:
        writing.add_lineage(states.artifact_id, corpus.artifact_id, LineageRole.EXTRACTED_FROM)
        writing.add_lineage(draft.artifact_id, states.artifact_id, LineageRole.TRAINED_ON)
        writing.add_measurement(states.artifact_id, "x", 1.0)
        verify(writing, draft)

    assert seen((Wanted(kinds=(ArtifactKind.HIDDEN_STATES,)),)) == {"states": seen()["states"]}


def test_of_children_alike_but_for_their_names_the_first_in_byte_order_is_read(
    place: Place, write: Write, seen: Any
) -> None:
    parent = place("states")
    children = [place(name, kind=ArtifactKind.CHECKPOINT) for name in ("a", "B", "c")]
    with write() as writing:
        for child in children:
            writing.add_lineage(child.artifact_id, parent.artifact_id, LineageRole.TRAINED_ON)

    assert [child.name for child in seen()["states"].children] == ["B"]


def test_a_fact_is_read_of_those_alone_of_which_it_is_asked(place: Place, write: Write, seen: Any) -> None:
    corpus, states, draft = place("corpus"), place("states"), place("draft", kind=ArtifactKind.CHECKPOINT)
    with write() as writing:
        for made in (states, draft):
            writing.add_lineage(made.artifact_id, corpus.artifact_id, LineageRole.TRAINED_ON)
            writing.add_measurement(made.artifact_id, "x", 1.0)
            writing.add_measurement(made.artifact_id, "y", 1.0)
    of_states = (Wanted(kinds=(ArtifactKind.HIDDEN_STATES,), has_inputs=True), Wanted(names=("nobody",)))
    needed = Needed(metrics=of_states, metric_names=frozenset({"x"}), children=(), paths=False)

    found = seen(needed=needed)
    also = seen((), also=[draft.artifact_id], needed=needed)

    assert {name: facts.metrics for name, facts in found.items()} == {
        "corpus": (),
        "states": (("x", 1.0),),
        "draft": (),
    }
    assert also["draft"].metrics == (("x", 1.0),)
    assert [facts.children or facts.path for facts in found.values()] == ["", "", ""]
