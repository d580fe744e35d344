"""Artifacts by name, by path and by nesting; names that pass on; what was measured."""

import os
from datetime import timedelta

import pytest

from artifactctl.catalog import NameTaken, UnknownObject
from artifactctl.domain.artifacts import ArtifactKind, ReplicaState
from artifactctl.domain.errors import UsageError


def test_an_artifact_comes_back_as_it_was_recorded(write, noon):
    with write() as writing:
        artifact = writing.add_artifact(
            "data/hs",
            ArtifactKind.HIDDEN_STATES,
            created_at=noon - timedelta(days=3, microseconds=1),
            tokens=87_800_000,
            records=10_000,
            content_digest="ab" * 32,
            sealed=False,
            labels={"target": "kimi", "corpus": "v2"},
            details=[("layers", "2,30,58")],
        )
        found = writing.artifact("data/hs")

    assert found == artifact
    assert (found.tokens, found.records, found.sealed) == (87_800_000, 10_000, False)
    assert found.created_at == noon - timedelta(days=3, microseconds=1)
    assert found.labels == (("corpus", "v2"), ("target", "kimi"))
    assert found.details == (("layers", "2,30,58"),)
    assert not found.is_live


@pytest.mark.parametrize(
    "name",
    ["", "x" * 256, "-rf", "new\nline", "colon:ed", "esc\x1b[0m", "nul\0", "\x85"],
    ids=["empty", "too long", "an option", "a newline", "a colon", "an escape", "a NUL", "a C1 control"],
)
def test_a_name_that_cannot_be_typed_safely_is_refused(catalog, write, name):
    with write() as writing, pytest.raises(UsageError):
        writing.add_artifact(name, ArtifactKind.OTHER)

    with catalog.reading() as reading:
        assert reading.artifacts() == ()


def test_a_name_that_is_not_utf8_is_kept_and_found(write):
    name = os.fsdecode(b"data/caf\xe9")
    with write() as writing:
        writing.add_artifact(name, ArtifactKind.OTHER)

        found = writing.artifact(name)

    assert found is not None
    assert found.name == "data/caf\\udce9"


def test_artifacts_are_chosen_by_kind_state_and_name(place, catalog):
    places = [place("a"), place("b", state=ReplicaState.BUILDING), place("c", kind=ArtifactKind.VOCAB_MAP)]
    numbers = [item.artifact_id for item in reversed(places)]

    with catalog.reading() as reading:
        chosen = {
            "all": [item.name for item in reading.artifacts()],
            "kind": [item.name for item in reading.artifacts(kind=ArtifactKind.HIDDEN_STATES)],
            "state": [item.name for item in reading.artifacts(state=ReplicaState.LIVE)],
            "names": [item.name for item in reading.artifacts(names=["c", "a", "nothing"])],
            "none": [item.name for item in reading.artifacts(names=[])],
            "numbers": [item.name for item in reading.artifacts(numbers=[*numbers, 10**6], state=ReplicaState.LIVE)],
            "no numbers": [item.name for item in reading.artifacts(numbers=[])],
        }

    assert chosen == {
        "all": ["a", "b", "c"],
        "kind": ["a", "b"],
        "state": ["a", "c"],
        "names": ["a", "c"],
        "none": [],
        "numbers": ["a", "c"],
        "no numbers": [],
    }


def test_choosing_by_state_still_shows_every_copy(place, write, noon):
    artifact = place("a")
    with write() as writing:
        writing.add_replica(
            artifact.artifact_id,
            "root-1",
            b"copy/a",
            is_directory=True,
            files=1,
            apparent_bytes=1,
            allocated_bytes=4096,
            member_digest="",
            fingerprint="",
            observed_at=noon,
            state=ReplicaState.ARCHIVED,
        )
        (found,) = writing.artifacts(state=ReplicaState.ARCHIVED)

    assert [copy.state for copy in found.replicas] == [ReplicaState.LIVE, ReplicaState.ARCHIVED]
    assert found.allocated_bytes == 12_288


def test_a_name_in_use_is_taken(place, write):
    place("a")

    with write() as writing, pytest.raises(NameTaken) as refusal:
        writing.add_artifact("a", ArtifactKind.OTHER)

    assert refusal.value.remedy == "artifactctl show a"


@pytest.mark.parametrize(
    "state", [state for state in ReplicaState if state is not ReplicaState.GONE], ids=lambda state: state.value
)
def test_only_what_is_gone_for_good_passes_its_name_on(place, write, state):
    place("a", state=state)

    with write() as writing, pytest.raises(NameTaken):
        writing.add_artifact("a", ArtifactKind.OTHER)


def test_a_tombstone_passes_its_name_on_and_stays(place, write):
    old = place("a", state=ReplicaState.GONE)

    new = place("a")

    with write() as writing:
        assert writing.artifact("a") == new
        assert writing.artifact_by_id(old.artifact_id) == old
        assert writing.artifacts_named_ever("a") == (new, old)
        assert writing.artifacts(names=["a"]) == (new,)
        assert len(writing.artifacts()) == 2


def test_facts_can_be_changed_and_others_stay(place, write):
    artifact = place("a")
    with write() as writing:
        changed = writing.update_artifact(artifact.artifact_id, tokens=7, name="b", labels={"k": "v"})

        assert (changed.name, changed.tokens, changed.labels) == ("b", 7, (("k", "v"),))
        assert changed.kind is artifact.kind
        assert changed.replicas == artifact.replicas
        assert writing.artifact("a") is None
        with pytest.raises(UnknownObject):
            writing.update_artifact(99, tokens=1)


def test_nesting_goes_by_path_components(place, catalog):
    for name in ("run", "run/checkpoint-1", "run/checkpoint-1/draft", "run-2", "run.old", "runs/x"):
        place(name)
    place("run/gone", state=ReplicaState.GONE)
    place("run/away", state=ReplicaState.QUARANTINED)

    with catalog.reading() as reading:
        below = [item.name for item in reading.artifacts_below("root-1", b"run")]
        above = [item.name for item in reading.artifacts_above("root-1", b"run/checkpoint-1/draft")]
        top = [item.name for item in reading.artifacts_below("root-1", b"")]
        elsewhere = reading.artifacts_below("root-2", b"run")

    assert below == ["run/checkpoint-1", "run/checkpoint-1/draft"]
    assert above == ["run", "run/checkpoint-1"]
    assert len(top) == 6
    assert elsewhere == ()


def test_nesting_holds_thousands_of_levels_deep(place, catalog):
    deep = b"/".join([b"d"] * 5_000)
    place("top", relative=b"d")

    with catalog.reading() as reading:
        above = reading.artifacts_above("root-1", deep)

    assert [item.name for item in above] == ["top"]


def test_what_is_at_a_path_is_what_lives_there_now(place, catalog):
    place("old", relative=b"x", state=ReplicaState.GONE)
    place("aside", relative=b"x", state=ReplicaState.QUARANTINED)
    place("lost", relative=b"x", state=ReplicaState.MISSING)
    with catalog.reading() as reading:
        before = reading.artifact_at("root-1", b"x")
        aside = reading.artifact_at("root-1", b"x", states=[ReplicaState.QUARANTINED])

    place("new", relative=b"x")
    with catalog.reading() as reading:
        after = reading.artifact_at("root-1", b"x")
        nothing = reading.artifact_at("root-1", b"x/y")

    assert [item and item.name for item in (before, aside, after, nothing)] == ["lost", "aside", "new", None]


def test_names_are_completed_and_corrected(place, catalog):
    for name in ("data/hidden_v1", "data/hidden_v2", "old/hidden", "100%_done"):
        place(name)

    with catalog.reading() as reading:
        assert reading.names_like("data/h") == ("data/hidden_v1", "data/hidden_v2")
        assert reading.names_like("hidden")[:1] == ("data/hidden_v1",)
        assert set(reading.names_like("hidden")) == {"data/hidden_v1", "data/hidden_v2", "old/hidden"}
        assert reading.names_like("data/hiden_v1")[0] == "data/hidden_v1"
        assert reading.names_like("0%_") == ("100%_done",)
        assert reading.names_like("%%") == ()
        assert reading.names_like("data", limit=1) == ("data/hidden_v1",)


def test_the_newest_measurement_of_a_metric_is_shown_and_all_are_kept(place, write, noon):
    artifact = place("draft", kind=ArtifactKind.DRAFT_MODEL)
    with write() as writing:
        writing.add_measurement(artifact.artifact_id, "accept_len", 2.4, source="bench", measured_at=noon)
        writing.add_measurement(
            artifact.artifact_id, "accept_len", 2.1, source="older", measured_at=noon - timedelta(days=1)
        )

        assert writing.artifact("draft").metrics == (("accept_len", 2.4),)
        assert [item.source for item in writing.measurements(artifact.artifact_id)] == ["older", "bench"]


def test_a_successor_is_named(place, write):
    old, new = place("v1"), place("v2")
    with write() as writing:
        writing.supersede(old.artifact_id, new.artifact_id)

        assert writing.artifact("v1").superseded_by == "v2"
        assert writing.artifact("v2").superseded_by is None
