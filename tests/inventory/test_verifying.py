"""Verification: what each level finds, and what it leaves behind."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import ArtifactKind, VerifyLevel
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.verification import Depth, VerifyResult
from artifactctl.inventory.registering import register
from artifactctl.inventory.statements import Statement
from artifactctl.inventory.verifying import names_here, verify, verify_named
from tests.artifacts import checkpoints, corpora, hidden_states, vocab_maps
from tests.bench import holders
from tests.inventory.ground import ACTOR, HERE, NOON, Ground


def check(ground: Ground, name: str, level: VerifyLevel = VerifyLevel.HEADERS) -> VerifyResult:
    (result,) = verify(ground.host, ground.catalog, name, here=HERE, now=NOON, actor=ACTOR, depth=Depth(level=level))
    return result


def test_a_whole_artifact_passes_and_the_level_is_stored_with_the_fingerprint(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs", rows=(5, 7))
    ground.scan()

    result = check(ground, "scratch/hs")

    (replica,) = ground.artifact("scratch/hs").replicas
    target = ManagedPath(root=ground.root.path, relative=b"hs")
    tree = ground.host.observe(ground.root, target, catalog_id=ground.catalog.lineage_id, catalog_epoch=1).tree
    assert tree is not None
    assert (result.ok, result.tokens, result.problems) == (True, 12, ())
    assert (replica.verified_level, replica.verified_at) == (VerifyLevel.HEADERS, NOON)
    assert replica.verified_fingerprint == tree.fingerprint
    assert ground.actions("scratch/hs") == ["artifact.register", "artifact.verify"]


@pytest.mark.parametrize("level", list(VerifyLevel))
def test_a_missing_member_fails_every_level(ground: Ground, level: VerifyLevel) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs")
    ground.scan()
    (folder / "shard-00001.safetensors").unlink()

    result = check(ground, "scratch/hs", level)

    assert not result.ok
    assert "shard-00001.safetensors: missing" in result.problems
    assert ground.artifact("scratch/hs").replicas[0].verified_level is None


def test_a_member_of_another_size_fails_with_both_sizes(ground: Ground) -> None:
    path = corpora.json_lines(ground.data / "a.jsonl", corpora.conversations(3))
    before = path.stat().st_size
    ground.scan()
    path.write_bytes(path.read_bytes() + b'{"text": "x"}\n')

    (problem,) = check(ground, "scratch/a.jsonl", VerifyLevel.MEMBERS).problems

    assert f"{before + 14} bytes, catalogued with {before}" in problem


def test_a_torn_specforge_sample_passes_the_members_and_fails_the_headers(ground: Ground) -> None:
    hidden_states.specforge_dump(ground.data / "dump", lengths=(4, 600, 5))
    torn = ground.data / "dump" / "rows_0-2000" / "data_1.ckpt"
    torn.write_bytes(torn.read_bytes()[:-3000])
    declared = Statement(kind=ArtifactKind.HIDDEN_STATES, name="dump", tokens=609)
    register(ground.host, ground.catalog, bytes(ground.data / "dump"), declared, here=HERE, now=NOON, actor=ACTOR)

    members, headers = check(ground, "dump", VerifyLevel.MEMBERS), check(ground, "dump")

    assert members.ok
    assert not headers.ok
    assert any(problem.startswith("rows_0-2000/data_1.ckpt: ") for problem in headers.problems)
    assert any("609 were declared, 9 were found" in problem for problem in headers.problems)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_specforge_tokens_equal_to_the_declared_ones_pass(ground: Ground, packed: bool) -> None:
    hidden_states.specforge_dump(ground.data / "dump", lengths=(4, 6, 5), packed=packed)
    declared = Statement(kind=ArtifactKind.HIDDEN_STATES, name="dump", tokens=15)
    register(ground.host, ground.catalog, bytes(ground.data / "dump"), declared, here=HERE, now=NOON, actor=ACTOR)

    assert check(ground, "dump").problems == ()


def test_tokens_that_nobody_declared_are_unknown_and_say_what_to_type(ground: Ground) -> None:
    hidden_states.specforge_dump(ground.data / "dump", lengths=(4, 6))
    ground.scan()

    result = check(ground, "scratch/dump")

    assert not result.ok
    (problem,) = result.problems
    assert "unknown" in problem
    assert "--tokens 10" in problem


def test_fewer_records_than_declared_fail(ground: Ground) -> None:
    path = corpora.json_lines(ground.data / "m.jsonl.zst", corpora.tokenised(9))
    declared = Statement(kind=ArtifactKind.MERGED_CORPUS, name="merged", records=10)
    register(ground.host, ground.catalog, bytes(path), declared, here=HERE, now=NOON, actor=ACTOR)

    assert check(ground, "merged").problems == ("records: 10 were declared, 9 were found",)


def test_digests_are_stored_the_first_time_and_compared_afterwards(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs", rows=(5, 7))
    ground.scan()
    first = check(ground, "scratch/hs", VerifyLevel.DIGESTS)
    shard = folder / "shard-00001.safetensors"
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)

    headers, digests = check(ground, "scratch/hs"), check(ground, "scratch/hs", VerifyLevel.DIGESTS)

    assert first.ok
    assert ground.artifact("scratch/hs").content_digest
    assert headers.ok
    assert digests.problems == ("shard-00001.safetensors: its bytes are not those whose digest was stored",)
    assert ground.artifact("scratch/hs").replicas[0].verified_level is None
    assert ground.actions("scratch/hs")[-1] == "artifact.verify_failed"


def test_a_lock_among_the_samples_fails(ground: Ground) -> None:
    folder = hidden_states.speculators_dump(ground.data / "hs")
    ground.scan()
    (folder / "hs_12.safetensors.lock").touch()

    assert check(ground, "scratch/hs").problems == ("hs_12.safetensors.lock: something is still being written",)


def test_a_model_with_a_missing_shard_fails_although_each_file_is_whole(ground: Ground) -> None:
    folder = checkpoints.model_folder(ground.data / "model")
    (folder / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "model.safetensors", "b": "model-00002.safetensors"}}'
    )
    ground.scan()

    (problem,) = check(ground, "scratch/model").problems

    assert problem.startswith("model-00002.safetensors")


def test_a_map_whose_halves_disagree_fails(ground: Ground) -> None:
    vocab_maps.two_torch_files(ground.data / "map")
    (ground.data / "other").mkdir()
    ground.scan()
    assert check(ground, "scratch/map").ok
    import torch

    t2d = torch.zeros(vocab_maps.TARGET, dtype=torch.bool)
    t2d[:6] = True
    torch.save(t2d, ground.data / "map" / "t2d.pt")

    assert "t2d and d2t name different tokens" in check(ground, "scratch/map").problems


def test_a_hub_model_with_links_passes(ground: Ground) -> None:
    checkpoints.hub_model(ground.data / "hub")
    ground.scan()

    assert check(ground, "scratch/hub/models--org--tiny", VerifyLevel.DIGESTS).problems == ()


def test_everything_is_verified_with_one_result_each(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs")
    checkpoints.trainer_checkpoint(ground.data / "run", 10)
    ground.scan()

    names = names_here(ground.host, ground.catalog)
    results = list(verify_named(ground.host, ground.catalog, names=names, here=HERE, now=NOON, actor=ACTOR))

    assert [(result.name, result.ok) for result in results] == [
        ("scratch/hs", True),
        ("scratch/run/checkpoint-10", True),
    ]


def test_an_unknown_name_is_an_error_with_what_was_perhaps_meant(ground: Ground) -> None:
    hidden_states.safetensors_shards(ground.data / "hs")
    ground.scan()

    with pytest.raises(UnknownObject) as unknown:
        check(ground, "scratch/hss")

    assert "scratch/hs" in unknown.value.remedy


def test_a_vanished_copy_fails_and_says_so(ground: Ground, tmp_path: Path) -> None:
    hidden_states.safetensors_shards(ground.data / "hs")
    ground.scan()
    (ground.data / "hs").rename(tmp_path / "away")

    result = check(ground, "scratch/hs")

    assert not result.ok
    assert "nothing is at" in result.problems[0]


@pytest.mark.parametrize("held", [holders.writable_descriptor, holders.writable_mapping], ids=["open", "mapped"])
@pytest.mark.parametrize("level", list(VerifyLevel))
def test_nothing_is_verified_while_somebody_could_write_to_it(
    ground: Ground, level: VerifyLevel, held: Callable[[Path], AbstractContextManager[int]]
) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs")
    ground.scan()
    assert check(ground, "scratch/hs", level).ok

    with held(folder / "shard-00001.safetensors") as process:
        meanwhile = check(ground, "scratch/hs", level)
        level_meanwhile = ground.artifact("scratch/hs").replicas[0].verified_level

    assert (meanwhile.ok, level_meanwhile) == (False, None)
    assert any(f"process {process} " in problem and "shard-00001" in problem for problem in meanwhile.problems)
    assert check(ground, "scratch/hs", level).ok


def test_who_only_reads_does_not_keep_it_from_being_verified(ground: Ground) -> None:
    folder = hidden_states.safetensors_shards(ground.data / "hs")
    ground.scan()

    with holders.mapping(folder / "shard-00001.safetensors"), holders.descriptor(folder / "shard-00000.safetensors"):
        assert check(ground, "scratch/hs").ok
