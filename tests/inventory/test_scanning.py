"""Scanning real trees: what is registered, what drifts, what is missing, what is nobody's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import ArtifactKind, ReplicaState
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.members import member_digest
from artifactctl.inventory.failures import NothingThere, NotTheRecordedVolume, OutsideRoots
from tests.artifacts import checkpoints, corpora, hidden_states, vocab_maps
from tests.inventory.ground import Ground

WITHOUT_PRIVILEGE = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.getuid() == 0 else ()
"""Root reads closed folders, unless it gives that right away."""


def test_a_scan_registers_what_it_recognises_under_its_path(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "runs" / "hs", rows=(5, 7, 3))
    corpora.json_lines(ground.data / "a.jsonl", corpora.conversations(9))

    report = ground.scan()

    assert {item.name for item in report.registered} == {"scratch/runs/hs", "scratch/a.jsonl"}
    assert ground.artifact("scratch/runs/hs").kind is ArtifactKind.HIDDEN_STATES
    assert ground.artifact("scratch/runs/hs").tokens == 15
    assert ground.artifact("scratch/a.jsonl").records == 9
    assert ground.actions() == ["root.add", "artifact.register", "artifact.register"]


def test_what_is_recorded_equals_what_the_host_observes(ground: Ground) -> None:
    hidden_states.specforge_dump(ground.data / "dump", lengths=(4, 6, 3), group=2)
    checkpoints.hub_model(ground.data / "hub")
    corpora.json_lines(ground.data / "a.jsonl", corpora.conversations(9))
    (ground.data / "dump" / "rows_0-2" / "hard").mkdir()
    os.link(ground.data / "dump" / "rows_0-2" / "data_0.ckpt", ground.data / "dump" / "rows_0-2" / "data_77.ckpt")

    ground.scan()

    for name in ("scratch/dump", "scratch/hub/models--org--tiny", "scratch/a.jsonl"):
        (replica,) = ground.artifact(name).replicas
        target = ManagedPath(root=ground.root.path, relative=replica.relative)
        tree = ground.host.observe(ground.root, target, catalog_id=ground.catalog.lineage_id, catalog_epoch=1).tree
        assert tree is not None
        assert replica.member_digest == tree.member_digest
        assert replica.fingerprint == tree.fingerprint
        assert (replica.allocated_bytes, replica.apparent_bytes) == (tree.allocated_bytes, tree.apparent_bytes)
        assert replica.files == tree.files + tree.symlinks
        assert member_digest(ground.members(name)) == replica.member_digest


def test_allocated_bytes_are_what_du_says(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs", rows=(500, 700))

    ground.scan()

    du = subprocess.run(
        ["du", "-s", "--block-size=1", str(ground.data / "hs")], check=True, capture_output=True, text=True
    )
    assert ground.artifact("scratch/hs").allocated_bytes == int(du.stdout.split()[0])


def test_a_second_scan_of_an_unchanged_tree_reports_and_writes_nothing(ground: Ground) -> None:
    checkpoints.model_folder(ground.data / "run", checkpoints.EAGLE3_CONFIG)
    checkpoints.trainer_checkpoint(ground.data / "run", 900)
    vocab_maps.one_torch_file(hidden_states.specforge_dump(ground.data / "dump"))
    ground.scan()
    events = ground.actions()

    again = ground.scan()

    assert (again.registered, again.grown, again.drift, again.missing, again.touched) == ((), (), (), (), ())
    assert ground.actions() == events


def test_a_nested_artifacts_files_are_never_the_outer_ones_members(ground: Ground) -> None:
    checkpoints.model_folder(ground.data / "run", checkpoints.EAGLE3_CONFIG)
    checkpoints.trainer_checkpoint(ground.data / "run", 900)
    checkpoints.trainer_checkpoint(ground.data / "run", 1000)

    ground.scan()

    assert [relative for relative, _, _ in ground.members("scratch/run")] == [b"config.json", b"model.safetensors"]
    assert len(ground.members("scratch/run/checkpoint-900")) == 4
    assert dict(ground.artifact("scratch/run/checkpoint-1000").metrics)["step"] == 1000


def test_a_checkpoint_that_appears_in_a_catalogued_run_is_registered(ground: Ground) -> None:
    checkpoints.model_folder(ground.data / "run", checkpoints.EAGLE3_CONFIG)
    ground.scan()
    checkpoints.trainer_checkpoint(ground.data / "run", 900)

    report = ground.scan()

    assert [item.name for item in report.registered] == ["scratch/run/checkpoint-900"]
    assert report.drift == ()


def test_a_look_writes_nothing(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs")
    database = Path(ground.catalog.location)

    with ground.catalog.reading() as reading:
        before = reading.revision()
    report = ground.look()

    with ground.catalog.reading() as reading:
        assert reading.revision() == before
        assert reading.artifacts() == ()
    assert [item.name for item in report.registered] == ["scratch/hs"]
    assert database.exists()


def test_a_shard_added_to_a_sealed_artifact_is_drift_until_it_is_accepted(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs", rows=(5, 7))
    ground.scan()
    hidden_states.safetensors_shards(folder, rows=(5, 7, 9))

    drifted, accepted, quiet = ground.scan(), ground.scan(accept=("scratch/hs",)), ground.scan()

    (found,) = drifted.drift
    assert (found.name, found.accepted, found.drift.strays) == ("scratch/hs", False, 1)
    assert found.drift.stray_examples == (b"shard-00002.safetensors",)
    assert [item.accepted for item in accepted.drift] == [True]
    assert len(ground.members("scratch/hs")) == 3
    assert ground.artifact("scratch/hs").tokens == 21
    assert quiet.drift == ()
    assert ground.actions("scratch/hs") == ["artifact.register", "artifact.accept_drift"]


def test_a_resized_and_a_vanished_shard_are_drift(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs", rows=(5, 7, 3))
    ground.scan()
    (folder / "shard-00000.safetensors").unlink()
    with (folder / "shard-00002.safetensors").open("ab") as file:
        file.write(b"more")

    (found,) = ground.scan().drift

    assert (found.drift.missing, found.drift.resized, found.drift.strays) == (1, 1, 0)
    assert len(ground.members("scratch/hs")) == 3


def test_a_single_file_that_grew_is_drift(ground: Ground) -> None:
    path = corpora.json_lines(ground.data / "a.jsonl", corpora.conversations(3))
    ground.scan()
    corpora.json_lines(path, corpora.conversations(5))

    drifted, accepted = ground.scan(), ground.scan(accept=("scratch/a.jsonl",))

    assert [item.name for item in drifted.drift] == ["scratch/a.jsonl"]
    assert [item.accepted for item in accepted.drift] == [True]
    assert ground.artifact("scratch/a.jsonl").records == 5


def test_a_persons_file_inside_an_artifact_is_a_stray_at_every_scan_and_no_drift(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs")
    (folder / "notes.txt").write_text("mine")

    first, second = ground.scan(), ground.scan()

    for report in (first, second):
        (strays,) = report.strays
        assert (strays.name, strays.files) == ("scratch/hs", 1)
        assert strays.examples == (bytes(folder / "notes.txt"),)
        assert report.drift == ()
    assert b"notes.txt" not in [relative for relative, _, _ in ground.members("scratch/hs")]


def test_bytes_that_nobody_owns_are_weighed_with_examples(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs")
    (ground.data / "big.bin").write_bytes(b"x" * 1_000_000)
    os.link(ground.data / "big.bin", ground.data / "same.bin")

    report = ground.scan()

    assert report.uncatalogued_bytes == (ground.data / "big.bin").stat().st_blocks * 512
    assert report.uncatalogued_files == 2
    assert report.uncatalogued_largest[0].path == bytes(ground.data / "big.bin")


def test_what_vanished_is_missing_and_what_turns_up_again_is_live(ground: Ground, tmp_path: Path) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs")
    ground.scan()
    folder.rename(tmp_path / "away")

    gone = ground.scan()
    state = ground.artifact("scratch/hs").replicas[0].state
    (tmp_path / "away").rename(folder)
    back = ground.scan()

    assert (gone.missing, state) == (("scratch/hs",), ReplicaState.MISSING)
    assert back.found_again == ("scratch/hs",)
    assert ground.artifact("scratch/hs").replicas[0].state is ReplicaState.LIVE
    assert ground.actions("scratch/hs") == ["artifact.register", "artifact.missing", "artifact.found_again"]


def test_an_unmounted_root_is_refused_and_nothing_is_called_missing(ground: Ground, tmp_path: Path) -> None:
    hidden_states.safetensors_shards(ground.data / "hs")
    ground.scan()
    ground.data.rename(tmp_path / "unmounted")
    ground.data.mkdir()

    with pytest.raises(NotTheRecordedVolume, match="is its volume mounted"):
        ground.scan()

    assert ground.artifact("scratch/hs").replicas[0].state is ReplicaState.LIVE


def test_a_copy_of_the_root_in_its_place_is_refused(ground: Ground, tmp_path: Path) -> None:
    ground.data.rename(tmp_path / "original")
    subprocess.run(["cp", "-a", str(tmp_path / "original"), str(ground.data)], check=True)

    with pytest.raises(NotTheRecordedVolume, match="not the folder that was added"):
        ground.scan()


def test_below_a_folder_that_cannot_be_read_nothing_is_missing(tmp_path: Path) -> None:
    made = subprocess.run(
        [*WITHOUT_PRIVILEGE, sys.executable, "-m", "tests.inventory.scan_a_closed_folder", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert made.returncode == 0, made.stderr
    said = json.loads(made.stdout)
    assert said["missing"] == ["scratch/open"]
    assert said["registered"] == []
    assert any("closed" in problem for problem in said["problems"])


def test_a_torn_shard_is_registered_as_such(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs", rows=(5, 7))
    torn = folder / "shard-00000.safetensors"
    torn.write_bytes(torn.read_bytes()[:-10])
    for path in (torn, folder / "shard-00001.safetensors"):
        os.utime(path, (0, 0))

    (item,) = ground.scan().registered

    assert "shard-00000.safetensors" in item.problems[0]
    assert item.tokens == 7
    assert "shard-00000" in dict(ground.artifact("scratch/hs").details)["problems"]


def test_what_is_still_being_written_is_unsealed_and_grows_until_it_is_finished(ground: Ground) -> None:
    folder = hidden_states.speculators_dump(ground.data / "hs", lengths=(4,))
    (folder / "hs_1.safetensors.lock").touch()
    first = ground.scan()
    hidden_states.speculators_dump(folder, lengths=(4, 6))
    (folder / "hs_1.safetensors.lock").unlink()

    second = ground.scan()

    assert first.registered[0].unfinished
    assert [(item.name, item.tokens) for item in second.grown] == [("scratch/hs", 10)]
    assert ground.artifact("scratch/hs").sealed
    assert ground.artifact("scratch/hs").replicas[0].state is ReplicaState.LIVE
    assert len(ground.members("scratch/hs")) == 2


def test_names_that_cannot_be_names_are_escaped(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "plain")
    os.rename(ground.data / "plain", bytes(ground.data) + b"/b\xff\n:c")

    (item,) = ground.scan().registered

    assert item.name == "scratch/b\\xff\\n\\x3ac"
    assert item.path == bytes(ground.data) + b"/b\xff\n:c"
    assert ground.artifact(item.name).replicas[0].relative == b"b\xff\n:c"


def test_a_very_long_path_gets_a_name_that_fits(ground: Ground) -> None:
    deep = ground.data / "/".join(["x" * 100] * 4)
    hidden_states.safetensors_shards(deep)

    (item,) = ground.scan().registered

    assert len(item.name) <= 255
    assert item.name.startswith("scratch/")


def test_only_the_path_that_is_given_is_scanned(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "a" / "hs")
    hidden_states.safetensors_shards(ground.data / "b" / "hs")
    corpora.json_lines(ground.data / "b" / "x.jsonl", corpora.conversations(1))

    folder, single = ground.scan(str(ground.data / "a")), ground.scan(str(ground.data / "b" / "x.jsonl"))

    assert [item.name for item in folder.registered] == ["scratch/a/hs"]
    assert [item.name for item in single.registered] == ["scratch/b/x.jsonl"]


def test_a_path_inside_an_artifact_means_the_artifact(ground: Ground) -> None:
    hidden_states.specforge_dump(ground.data / "dump")
    ground.scan()

    report = ground.scan(str(ground.data / "dump" / "rows_0-2000"))

    assert (report.registered, report.missing, report.drift) == ((), (), ())


@pytest.mark.parametrize(
    ("word", "error"),
    [("/nowhere/at/all", OutsideRoots), ("", UnknownObject), ("{data}/not-there", NothingThere)],
    ids=["outside every root", "empty", "nothing there"],
)
def test_a_word_that_means_nothing_is_an_error(ground: Ground, word: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        ground.scan(word.format(data=ground.data))


def test_accepting_an_unknown_name_is_an_error(ground: Ground) -> None:
    with pytest.raises(UnknownObject):
        ground.scan(accept=("scratch/hsx",))


def test_the_artifact_to_accept_is_looked_at_although_another_path_was_given(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs", rows=(5,))
    hidden_states.safetensors_shards(ground.data / "other" / "hs")
    ground.scan()
    hidden_states.safetensors_shards(folder, rows=(5, 9))

    report = ground.scan(str(ground.data / "other"), accept=("scratch/hs",))

    assert [(item.name, item.accepted) for item in report.drift] == [("scratch/hs", True)]


def test_a_file_that_cannot_be_opened_does_not_stop_the_scan(ground: Ground) -> None:
    folder = checkpoints.model_folder(ground.data / "model")
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    os.mkfifo(ground.data / "pipe.jsonl")
    hidden_states.safetensors_shards(ground.data / "hs")

    report = ground.scan()

    assert [item.name for item in report.registered] == ["scratch/hs"]
    assert report.uncatalogued_files == 3


def test_links_are_never_followed(ground: Ground, tmp_path: Path) -> None:
    hidden_states.safetensors_shards(tmp_path / "outside")
    (ground.data / "linked").symlink_to(tmp_path / "outside")
    (ground.data / "loop").symlink_to(".")

    report = ground.scan()

    assert report.registered == ()
    assert report.uncatalogued_files == 2
