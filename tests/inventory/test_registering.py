"""What a person declares becomes an artifact, with its inputs, successor and cost."""

from datetime import timedelta
from pathlib import Path

import pytest

from artifactctl.catalog import LineageCycle, NameTaken, PathTaken
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole
from artifactctl.domain.errors import UsageError
from artifactctl.inventory.failures import NothingThere, OutsideRoots, UnfitLink, UnfitRoot
from artifactctl.inventory.linking import link, record, supersede
from artifactctl.inventory.places import Here
from artifactctl.inventory.registering import register
from artifactctl.inventory.statements import Statement
from tests.artifacts import checkpoints, corpora, hidden_states, vocab_maps
from tests.inventory.ground import ACTING, ACTOR, HERE, NOON, Ground


def declare(ground: Ground, path: Path, statement: Statement) -> Artifact:
    return register(ground.host, ground.catalog, bytes(path), statement, here=HERE, now=NOON, actor=ACTOR)


def edges(ground: Ground, name: str) -> set[tuple[int, LineageRole]]:
    with ground.catalog.reading() as reading:
        return {(edge.parent_id, edge.role) for edge in reading.parents(ground.artifact(name).artifact_id)}


def corpus(ground: Ground, name: str = "merged") -> Artifact:
    path = corpora.json_lines(ground.data / f"{name}.jsonl", corpora.tokenised(4))
    return declare(ground, path, Statement(kind=ArtifactKind.MERGED_CORPUS, name=name, tokens=12))


def test_a_folder_is_registered_with_everything_below_it(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "parts" / "rank0")
    hidden_states.safetensors_shards(ground.data / "parts" / "rank1")
    (folder / "README.md").write_text("mine too")

    artifact = declare(ground, ground.data / "parts", Statement(kind=ArtifactKind.HIDDEN_STATES, name="hs", tokens=30))

    assert (artifact.kind, artifact.tokens) == (ArtifactKind.HIDDEN_STATES, 30)
    assert len(ground.members("hs")) == 7
    assert ground.actions("hs") == ["artifact.register"]
    quiet = ground.scan()
    assert (quiet.registered, quiet.drift, quiet.strays) == ((), (), ())


def test_what_scan_would_count_is_declared_when_nothing_else_is(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs", rows=(5, 7))

    artifact = declare(ground, ground.data / "hs", Statement(kind=ArtifactKind.HIDDEN_STATES, name="hs"))

    assert artifact.tokens == 12


def test_a_checkpoint_inside_a_declared_run_stays_an_artifact_of_its_own(ground: Ground) -> None:
    checkpoints.model_folder(ground.data / "run", checkpoints.EAGLE3_CONFIG)
    checkpoints.trainer_checkpoint(ground.data / "run", 900)

    declare(ground, ground.data / "run", Statement(kind=ArtifactKind.DRAFT_MODEL, name="draft"))
    report = ground.scan()

    assert len(ground.members("draft")) == 2
    assert [item.name for item in report.registered] == ["scratch/run/checkpoint-900"]


def test_something_of_no_known_kind_is_registered_whole(ground: Ground) -> None:
    (ground.data / "things" / "deep").mkdir(parents=True)
    (ground.data / "things" / "deep" / "a.bin").write_bytes(b"x")
    (ground.data / "things" / "link").symlink_to("deep/a.bin")

    artifact = declare(ground, ground.data / "things", Statement(name="things"))

    assert artifact.kind is ArtifactKind.OTHER
    assert ground.members("things") == [(b"deep/a.bin", "f", 1), (b"link", "l", 10)]


def test_what_scan_named_can_be_renamed_and_restated(ground: Ground) -> None:
    corpora.json_lines(ground.data / "m.jsonl", corpora.conversations(4))
    ground.scan()

    statement = Statement(kind=ArtifactKind.MERGED_CORPUS, name="merged", tokens=87_800_000, labels={"team": "a"})
    artifact = declare(ground, ground.data / "m.jsonl", statement)

    assert (artifact.name, artifact.kind, artifact.tokens, artifact.records) == (
        "merged",
        ArtifactKind.MERGED_CORPUS,
        87_800_000,
        4,
    )
    assert dict(artifact.labels) == {"team": "a"}
    assert ground.actions("merged") == ["artifact.restate"]
    assert ground.scan().registered == ()


def test_inputs_get_their_usual_roles(ground: Ground) -> None:
    merged = corpus(ground)
    target = checkpoints.model_folder(ground.data / "target")
    declare(ground, target, Statement(kind=ArtifactKind.MODEL, name="target"))
    hidden_states.safetensors_shards(ground.data / "hs")

    declare(
        ground,
        ground.data / "hs",
        Statement(kind=ArtifactKind.HIDDEN_STATES, name="hs", inputs=("merged", "target:extracted_from")),
    )

    assert edges(ground, "hs") == {
        (merged.artifact_id, LineageRole.EXTRACTED_FROM),
        (ground.artifact("target").artifact_id, LineageRole.EXTRACTED_FROM),
    }
    assert ground.actions("hs") == ["artifact.register", "lineage.link", "lineage.link"]


def test_an_unknown_input_registers_nothing(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs")

    with pytest.raises(UnknownObject):
        declare(ground, ground.data / "hs", Statement(kind=ArtifactKind.HIDDEN_STATES, name="hs", inputs=("no-such",)))

    with ground.catalog.reading() as reading:
        assert reading.artifacts() == ()


def test_time_and_cost_become_a_finished_run(ground: Ground) -> None:
    merged = corpus(ground)
    hidden_states.safetensors_shards(ground.data / "hs")
    statement = Statement(
        kind=ArtifactKind.HIDDEN_STATES,
        name="hs",
        inputs=("merged",),
        run_time=timedelta(hours=19),
        cost_gpu_hours=152.0,
    )

    artifact = declare(ground, ground.data / "hs", statement)

    with ground.catalog.reading() as reading:
        (run,) = reading.runs(stage="extraction")
    assert (run.duration_seconds, run.cost_gpu_hours) == (19 * 3600, 152.0)
    assert (run.inputs, run.outputs) == ((merged.artifact_id,), (artifact.artifact_id,))


def test_a_successor_is_recorded_at_both_ends(ground: Ground) -> None:
    for name in ("old", "new"):
        hidden_states.safetensors_shards(ground.data / name)
    declare(ground, ground.data / "old", Statement(kind=ArtifactKind.HIDDEN_STATES, name="old"))

    declare(ground, ground.data / "new", Statement(kind=ArtifactKind.HIDDEN_STATES, name="new", supersedes="old"))

    assert ground.artifact("old").superseded_by == "new"
    assert (ground.artifact("old").artifact_id, LineageRole.SUPERSEDES) in edges(ground, "new")
    assert ground.actions("old") == ["artifact.register", "artifact.supersede"]


def test_a_successor_of_another_kind_is_refused(ground: Ground) -> None:
    corpus(ground)
    hidden_states.safetensors_shards(ground.data / "hs")
    declare(ground, ground.data / "hs", Statement(kind=ArtifactKind.HIDDEN_STATES, name="hs"))

    with pytest.raises(UnfitLink):
        supersede(ground.catalog, "hs", "merged", here=HERE, acting=ACTING)


@pytest.mark.parametrize(
    ("name", "error"),
    [("a:b", UsageError), ("-x", UsageError), ("a\nb", UsageError), ("x" * 256, UsageError)],
)
def test_a_name_that_an_artifact_cannot_have_is_refused(ground: Ground, name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        Statement(name=name)


def test_a_taken_name_is_refused(ground: Ground) -> None:
    corpus(ground)
    hidden_states.safetensors_shards(ground.data / "hs")

    with pytest.raises(NameTaken):
        declare(ground, ground.data / "hs", Statement(kind=ArtifactKind.HIDDEN_STATES, name="merged"))


def test_a_path_outside_every_root_names_the_way_out(ground: Ground, tmp_path: Path) -> None:
    hidden_states.safetensors_shards(tmp_path / "elsewhere" / "hs")

    with pytest.raises(OutsideRoots) as refused:
        declare(ground, tmp_path / "elsewhere" / "hs", Statement(kind=ArtifactKind.HIDDEN_STATES))

    assert refused.value.remedy == f"artifactctl root add {tmp_path / 'elsewhere'}"


def test_the_way_out_beside_a_root_is_not_a_folder_that_holds_that_root(ground: Ground) -> None:
    beside = ground.data.parent / "beside"
    hidden_states.safetensors_shards(beside)

    with pytest.raises(OutsideRoots) as refused:
        declare(ground, beside, Statement(kind=ArtifactKind.HIDDEN_STATES))

    assert refused.value.remedy == f"artifactctl root add {beside}"


@pytest.mark.parametrize(
    ("inner", "error"),
    [("", UnfitRoot), ("nothing", NothingThere), ("empty", NothingThere)],
    ids=["the root itself", "not there", "an empty folder"],
)
def test_what_cannot_be_an_artifact_is_refused(ground: Ground, inner: str, error: type[Exception]) -> None:
    (ground.data / "empty").mkdir()

    with pytest.raises(error):
        declare(ground, ground.data / inner, Statement(name="x"))


def test_a_part_of_an_artifact_cannot_be_another_one(ground: Ground) -> None:
    hidden_states.specforge_dump(ground.data / "dump")
    ground.scan()

    with pytest.raises(PathTaken, match="scratch/dump"):
        declare(ground, ground.data / "dump" / "rows_0-2000", Statement(name="rows"))


def test_links_come_later_too_and_may_not_go_round(ground: Ground) -> None:
    for name in ("a", "b"):
        checkpoints.trainer_checkpoint(ground.data / name, 10)
        path = ground.data / name / "checkpoint-10"
        declare(ground, path, Statement(kind=ArtifactKind.CHECKPOINT, name=name))

    link(ground.catalog, "b", ["a"], here=HERE, acting=ACTING)

    assert edges(ground, "b") == {(ground.artifact("a").artifact_id, LineageRole.RESUMED_FROM)}
    with pytest.raises(LineageCycle):
        link(ground.catalog, "a", ["b"], here=HERE, acting=ACTING)


@pytest.mark.parametrize(
    ("word", "says"),
    [("merged:mapped_with", "cannot be mapped_with"), ("merged", "no usual role"), ("merged:friend", "is no role")],
)
def test_a_role_that_does_not_fit_the_kinds_is_refused(ground: Ground, word: str, says: str) -> None:
    corpus(ground)
    checkpoints.model_folder(ground.data / "draft", checkpoints.EAGLE3_CONFIG)
    declare(ground, ground.data / "draft", Statement(kind=ArtifactKind.DRAFT_MODEL, name="draft"))

    with pytest.raises(UnfitLink, match=says) as refused:
        link(ground.catalog, "draft", [word], here=HERE, acting=ACTING)

    assert refused.value.remedy


def test_a_corpus_that_was_taken_for_a_response_set_can_be_corrected_as_the_refusal_says(ground: Ground) -> None:
    corpora.json_lines(ground.data / "merged.jsonl", corpora.conversations(4))
    declare(ground, ground.data / "merged.jsonl", Statement(kind=ArtifactKind.RESPONSE_SET, name="merged"))
    hidden_states.safetensors_shards(ground.data / "hs")
    declare(ground, ground.data / "hs", Statement(kind=ArtifactKind.HIDDEN_STATES, name="hs"))

    with pytest.raises(UnfitLink) as refused:
        link(ground.catalog, "hs", ["merged"], here=HERE, acting=ACTING)

    assert f"artifactctl register {ground.data}/merged.jsonl --kind merged_corpus" in refused.value.remedy


def test_an_artifact_can_be_named_by_its_path(ground: Ground) -> None:
    corpus(ground)
    vocab_maps.two_torch_files(ground.data / "map")
    declare(ground, ground.data / "map", Statement(kind=ArtifactKind.VOCAB_MAP, name="map"))

    link(
        ground.catalog,
        str(ground.data / "map"),
        [str(ground.data / "merged.jsonl")],
        here=HERE,
        acting=ACTING,
    )

    assert edges(ground, "map") == {(ground.artifact("merged").artifact_id, LineageRole.EXTRACTED_FROM)}


def test_a_measurement_becomes_evidence(ground: Ground) -> None:
    checkpoints.model_folder(ground.data / "draft", checkpoints.EAGLE3_CONFIG)
    declare(ground, ground.data / "draft", Statement(kind=ArtifactKind.DRAFT_MODEL, name="draft"))

    record(ground.catalog, "draft", {"accept_len": 2.1}, here=HERE, acting=ACTING, source="eval on mt-bench")

    assert dict(ground.artifact("draft").metrics) == {"accept_len": 2.1}
    assert ground.actions("draft") == ["artifact.register", "artifact.measure"]


@pytest.mark.parametrize("metrics", [{}, {"": 1.0}, {"x": float("nan")}, {"x\n": 1.0}])
def test_what_is_no_measurement_is_refused(ground: Ground, metrics: dict[str, float]) -> None:
    corpus(ground)

    with pytest.raises(UsageError):
        record(ground.catalog, "merged", metrics, here=HERE, acting=ACTING)


@pytest.mark.parametrize("word", ["merged.jsonl", "./merged.jsonl", "../scratch/merged.jsonl"])
def test_a_path_relative_to_the_working_directory_names_an_artifact_too(ground: Ground, word: str) -> None:
    corpus(ground)

    record(ground.catalog, word, {"quality": 0.5}, here=Here(directory=bytes(ground.data)), acting=ACTING)

    assert dict(ground.artifact("merged").metrics) == {"quality": 0.5}
