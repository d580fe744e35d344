"""What verification finds in packed shards, and that the first look at the bytes already proves them."""

from pathlib import Path

import pytest

from artifactctl.api.formats import Codec
from artifactctl.domain.artifacts import ArtifactKind, VerifyLevel
from artifactctl.domain.verification import Depth, VerifyResult
from artifactctl.inventory.verifying import verify
from tests.extract.shards import made
from tests.inventory.ground import ACTOR, HERE, NOON, Ground

CODECS = pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])


def check(ground: Ground, level: VerifyLevel = VerifyLevel.HEADERS) -> VerifyResult:
    depth = Depth(level=level)
    (result,) = verify(ground.host, ground.catalog, "scratch/hs", here=HERE, now=NOON, actor=ACTOR, depth=depth)
    return result


def dump(ground: Ground, codec: Codec) -> Path:
    folder = made.packed(ground.data / "hs", made.records((400,) * 6), codec=codec, shard_bytes=64 * 1024)
    ground.scan()
    assert len(list(folder.glob("shard-*"))) >= 3
    return folder / "shard-00001.safetensors"


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


@CODECS
def test_a_whole_dump_passes_every_level_with_its_tokens_and_records(ground: Ground, codec: Codec) -> None:
    dump(ground, codec)

    headers, digests = check(ground), check(ground, VerifyLevel.DIGESTS)

    assert ground.artifact("scratch/hs").kind is ArtifactKind.HIDDEN_STATES
    assert (headers.problems, headers.tokens, headers.records) == ((), 2400, 6)
    assert digests.problems == ()
    assert ground.artifact("scratch/hs").content_digest


@CODECS
def test_a_byte_that_changed_before_anybody_hashed_it_is_found_by_the_writers_checksums(
    ground: Ground, codec: Codec
) -> None:
    flip(dump(ground, codec), 9000)

    first, again = check(ground, VerifyLevel.DIGESTS), check(ground, VerifyLevel.DIGESTS)

    assert len(first.problems) == 1
    assert first.problems[0].startswith("shard-00001.safetensors: the bytes of its tensor hidden_states")
    assert again.problems == first.problems
    assert not ground.artifact("scratch/hs").content_digest


@CODECS
def test_a_torn_and_a_missing_shard_are_named(ground: Ground, codec: Codec) -> None:
    path = dump(ground, codec)
    path.write_bytes(path.read_bytes()[:-1000])
    path.with_name("shard-00000.safetensors").unlink()

    problems = check(ground).problems

    assert any(
        problem.startswith("shard-00001.safetensors: ") and "missing at its end" in problem for problem in problems
    )
    assert any(problem.startswith("shard-00000.safetensors: ") for problem in problems)


def test_what_a_killed_writer_left_beside_whole_shards_is_told(ground: Ground) -> None:
    path = dump(ground, Codec.NONE)
    path.with_name("shard-00009.safetensors.partial").touch()

    assert check(ground).problems == ("shard-00009.safetensors.partial: something is still being written",)
