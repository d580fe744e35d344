"""A volume that fills up while shards are written: the run is refused before a shard, never torn inside one."""

import errno
import os
from pathlib import Path

import pytest

from artifactctl.api.formats import Codec
from artifactctl.domain.errors import Refused
from extract.shards import open_shard
from extract.shards.manifest import NAME
from extract.shards.packing import PackedDump, PackedWriter
from extract.shards.records import token_hash
from extract.shards.speculators import SpeculatorsWriter
from tests.bench.volumes import FilesystemKind, Volume, fill_with_bytes
from tests.extract.shards import made
from tests.extract.shards.test_dumps import PRE

pytestmark = pytest.mark.system

MIB = 2**20
SHARD_BYTES = 8 * MIB
TOKENS = 20_000
RECORDS = [made.record(index, TOKENS) for index in range(30)]
"""Some 1.3 MiB each."""

ON_DISKS = pytest.mark.parametrize("kind", [FilesystemKind.EXT4, FilesystemKind.XFS, FilesystemKind.TMPFS])
CODECS = pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])


def shards_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("shard-*.safetensors"))


def write_until_refused(folder: Path, codec: Codec) -> None:
    writer = PackedWriter(folder, made.plan(codec), shard_bytes=SHARD_BYTES)
    for each in RECORDS:
        if not writer.written[token_hash(each.token_ids)]:
            writer.append(each)
    writer.finish()


def write_records(writer: SpeculatorsWriter, count: int) -> None:
    for index in range(count):
        writer.append(made.record(index, TOKENS, PRE))


@ON_DISKS
@CODECS
def test_a_full_disk_refuses_the_next_shard_and_the_run_goes_on_when_there_is_room(
    volumes, kind: FilesystemKind, codec: Codec
) -> None:
    volume: Volume = volumes(kind)
    filler = fill_with_bytes(volume, leave_bytes=20 * MIB)
    folder = volume.mount / "states"
    folder.mkdir()

    with pytest.raises(Refused, match="has not so much room") as refused:
        write_until_refused(folder, codec)

    assert "artifactctl reclaim --need 8MiB" in refused.value.remedy
    whole = shards_in(folder)
    assert 1 <= len(whole) < 5  # ext4 lets root write into what it keeps for root
    for path in whole:
        with open_shard(path) as shard:
            assert list(shard.problems()) == []
    assert not (folder / NAME).exists()
    assert sum(path.stat().st_blocks for path in folder.glob("*.partial")) == 0
    for path in filler.iterdir():
        path.unlink()
    write_until_refused(folder, codec)
    dump = PackedDump(folder)
    assert all(found.is_same_as(expected) for found, expected in zip(dump, RECORDS, strict=True))
    dump.close()


@ON_DISKS
@CODECS
def test_a_disk_that_others_fill_meanwhile_does_not_touch_the_shard_that_is_being_written(
    volumes, kind: FilesystemKind, codec: Codec
) -> None:
    volume: Volume = volumes(kind)
    folder = volume.mount / "states"
    folder.mkdir()
    writer = PackedWriter(folder, made.plan(codec), shard_bytes=SHARD_BYTES)
    writer.append(RECORDS[0])
    fill_with_bytes(volume)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        (volume.mount / "one-more").write_bytes(os.urandom(MIB))

    for each in RECORDS[1:5]:
        writer.append(each)
    writer.flush()

    (path,) = shards_in(folder)
    with open_shard(path) as shard:
        assert list(shard.problems()) == []
        assert len(shard) == 5


@ON_DISKS
def test_a_layout_of_one_file_a_record_is_refused_before_a_record_as_well(volumes, kind: FilesystemKind) -> None:
    volume: Volume = volumes(kind)
    folder = volume.mount / "states"
    folder.mkdir()
    writer = SpeculatorsWriter(folder, PRE)
    fill_with_bytes(volume, leave_bytes=4 * MIB)

    with pytest.raises(Refused, match="has not so much room"):
        write_records(writer, 30)
    writer.abandon()

    whole = sorted((folder / "hidden_states").glob("*.safetensors"))
    assert whole
    assert {path.stat().st_size for path in whole} == {whole[0].stat().st_size}
