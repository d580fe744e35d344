"""A packed dump: what is written is read again by record, by anybody's safetensors, and only when it is whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from artifactctl.api.formats import Codec, ElementType, FinalState
from artifactctl.domain.errors import Busy, CheckFailed, Refused, UsageError
from extract.shards import open_shard
from extract.shards.form import StatesForm
from extract.shards.manifest import BrokenManifest, PackedManifest, listed, write_manifest
from extract.shards.packing import PackedDump, PackedWriter
from extract.shards.reader import BrokenShard
from extract.shards.records import RejectedRecord, StateRecord, token_hash
from extract.shards.sinks import rows_per_block
from extract.shards.tensors import as_torch
from extract.shards.writer import ShardWriter
from tests.extract.shards import made

CODECS = pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])


def same(found: StateRecord, expected: StateRecord) -> bool:
    return found.index == expected.index and found.is_same_as(expected)


def one_shard(folder: Path, records: list[StateRecord], codec: Codec = Codec.NONE) -> Path:
    return made.packed(folder, records, codec=codec) / "shard-00000.safetensors"


@CODECS
def test_every_record_comes_back_as_it_was_in_any_order(tmp_path: Path, codec: Codec) -> None:
    records = made.records()

    with open_shard(one_shard(tmp_path, records, codec)) as shard:
        assert len(shard) == len(records)
        assert shard.lengths() == made.LENGTHS
        for position in (4, 0, 2, 1, 3, 2, -1):
            assert same(shard[position], records[position])


@CODECS
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_records_of_any_length_come_back_across_blocks_and_shards(
    tmp_path_factory: pytest.TempPathFactory, codec: Codec, data: st.DataObject
) -> None:
    form = StatesForm(hidden_size=2**18, captured=1)  # eight rows a block
    assert rows_per_block(form) == 8
    lengths = tuple(data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=4)))
    records = made.records(lengths, form=StatesForm(hidden_size=4, captured=1))
    wide = [
        StateRecord(
            index=each.index,
            token_ids=each.token_ids,
            loss_mask=each.loss_mask,
            states=np.repeat(each.states, 2**16, axis=1),
        )
        for each in records
    ]

    folder = made.packed(tmp_path_factory.mktemp("dump"), wide, codec=codec, form=form, shard_bytes=16 * 2**20)
    dump = PackedDump(folder)

    assert len(dump) == len(wide)
    for position in data.draw(st.permutations(range(len(wide)))):
        assert same(dump[position], wide[position])
    dump.close()


@pytest.mark.parametrize("element", [ElementType.FP16, ElementType.FP32])
def test_other_element_types_are_kept_as_they_are(tmp_path: Path, element: ElementType) -> None:
    form = StatesForm(hidden_size=6, captured=2, element=element, has_loss_mask=False)
    records = made.records(form=form)

    dump = PackedDump(made.packed(tmp_path, records, form=form))

    assert all(same(found, expected) for found, expected in zip(dump, records, strict=True))
    dump.close()
    with pytest.raises(UsageError, match="planes is for bf16"):
        made.plan(Codec.PLANES, form)


def test_the_safetensors_library_reads_a_plain_shard_as_bf16(tmp_path: Path) -> None:
    records = made.records()

    with safe_open(one_shard(tmp_path, records), framework="pt") as opened:
        states = opened.get_tensor("hidden_states")
        offsets = opened.get_tensor("record_offsets").tolist()
        ids = opened.get_tensor("input_ids")
        hashes = opened.get_tensor("token_hashes")

    assert states.dtype == torch.bfloat16
    assert states.shape == (sum(made.LENGTHS), made.FORM.width)
    assert offsets == [0, 5, 6, 306, 323, 387]
    for each, begin, end in zip(records, offsets[:-1], offsets[1:], strict=True):
        assert (states[begin:end].view(torch.int16).numpy().view("<u2") == each.states).all()
        assert ids[begin:end].tolist() == each.token_ids.tolist()
        assert bytes(hashes[each.index].tolist()) == token_hash(each.token_ids)


def test_the_safetensors_library_reads_what_surrounds_coded_states(tmp_path: Path) -> None:
    with safe_open(one_shard(tmp_path, made.records(), Codec.PLANES), framework="pt") as opened:
        assert opened.get_tensor("input_ids").dtype == torch.int32
        assert opened.get_tensor("hidden_states.blocks")[0] == 0
        assert opened.metadata()["codec"] == "planes"


def test_a_record_becomes_torch_tensors_without_losing_a_bit(tmp_path: Path) -> None:
    records = made.records()

    with open_shard(one_shard(tmp_path, records)) as shard:
        tensors = as_torch(shard[2], ElementType.BF16)

    assert tensors["hidden_states"].dtype == torch.bfloat16
    assert (tensors["hidden_states"].view(torch.int16).numpy().view("<u2") == records[2].states).all()
    assert tensors["loss_mask"].tolist() == records[2].loss_mask.tolist()


def test_reading_a_shard_loads_no_torch(tmp_path: Path) -> None:
    path = one_shard(tmp_path, made.records(), Codec.PLANES)
    code = f"import sys; from extract.shards import open_shard; open_shard({str(path)!r})[1]; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert {"torch", "safetensors", "sqlalchemy"} & set(done.stdout.split()) == set()


@CODECS
def test_shards_stay_below_their_size_and_a_larger_record_gets_one_of_its_own(tmp_path: Path, codec: Codec) -> None:
    records = made.records((400, 400, 3000, 400, 10))
    size = 64 * 1024

    folder = made.packed(tmp_path, records, codec=codec, shard_bytes=size)

    sizes = [path.stat().st_size for path in sorted(folder.glob("shard-*"))]
    assert len(sizes) >= 3
    assert sum(each > size for each in sizes) == 1
    dump = PackedDump(folder)
    assert all(same(found, expected) for found, expected in zip(dump, records, strict=True))
    dump.close()


def test_the_manifest_says_what_the_run_was_made_of_and_what_is_missing(tmp_path: Path) -> None:
    writer = made.writer(tmp_path, made.plan())
    good, bad = made.record(0, 5), made.record(1, 5)
    bad.states[3, 2] = 0x7FC0
    writer.append(good)
    with pytest.raises(RejectedRecord, match="not finite"):
        writer.append(bad)
    writer.reject(7, "the server lost it")
    writer.finish()

    content = json.loads((tmp_path / "manifest.json").read_text())
    assert (content["records"], content["tokens"], content["kind"]) == (1, 5, "hidden_states")
    assert [each["index"] for each in content["rejected"]] == [1, 7]
    assert content["run"] == made.plan().fingerprint.as_json()
    assert content["members"][0]["size_bytes"] == (tmp_path / "shard-00000.safetensors").stat().st_size


@pytest.mark.parametrize("pattern", [0x7F80, 0xFF80, 0x7F81, 0xFFFF])
def test_a_record_with_an_infinity_or_nan_is_rejected(tmp_path: Path, pattern: int) -> None:
    writer = made.writer(tmp_path, made.plan())
    bad = made.record(0, 5)
    bad.states[4, -1] = pattern

    with pytest.raises(RejectedRecord):
        writer.append(bad)


def unfit(**changes: object) -> StateRecord:
    good = made.record(0, 5)
    parts = {"token_ids": good.token_ids, "loss_mask": good.loss_mask, "states": good.states} | changes
    return StateRecord(index=0, **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (unfit(states=made.bits(4, made.FORM.width)), "5 tokens need"),
        (unfit(states=made.bits(5, 24)), "5 tokens need"),
        (unfit(loss_mask=None), "no loss mask"),
        (unfit(loss_mask=np.ones(4, "u1")), "covers 4 of 5"),
        (unfit(loss_mask=np.full(5, 2, "u1")), "other values"),
        (unfit(token_ids=np.array([1, 2, 3, 4, -1])), "negative"),
        (unfit(token_ids=np.array([1, 2, 3, 4, 2**31])), "31 bits"),
        (unfit(token_ids=np.array([], "<i8")), "no tokens"),
    ],
    ids=["short block", "narrow rows", "no mask", "short mask", "mask of twos", "negative id", "large id", "empty"],
)
def test_an_unfit_record_is_rejected_with_the_reason(tmp_path: Path, broken: StateRecord, reason: str) -> None:
    with pytest.raises(RejectedRecord, match=reason):
        made.writer(tmp_path, made.plan()).append(broken)

    assert list(tmp_path.iterdir()) == []


@CODECS
def test_the_next_run_goes_on_after_the_last_whole_shard(tmp_path: Path, codec: Codec) -> None:
    records = made.records((200,) * 8)
    first = PackedWriter(tmp_path, made.plan(codec), shard_bytes=64 * 1024)
    for each in records[:6]:
        first.append(each)
    whole = [shard.path for shard in first.shards]
    before = [path.read_bytes() for path in whole]
    first.abandon()  # as a crash would, but for the lock

    second = PackedWriter(tmp_path, made.plan(codec), shard_bytes=64 * 1024)
    kept = len(second.written)
    for each in records:
        if token_hash(each.token_ids) not in second.written:
            second.append(each)
    second.finish()

    assert 0 < kept < 6
    assert [path.read_bytes() for path in whole] == before
    dump = PackedDump(tmp_path)
    assert all(same(found, expected) for found, expected in zip(dump, records, strict=True))
    dump.close()
    assert list(tmp_path.glob("*.partial")) == []


def test_a_run_of_another_fingerprint_is_refused_with_the_difference(tmp_path: Path) -> None:
    first = made.writer(tmp_path, made.plan())
    first.append(made.record(0, 5))
    first.flush()

    with pytest.raises(Refused, match="model other here, tiny there"):
        made.writer(tmp_path, made.plan(model="other"))
    with pytest.raises(Refused, match="states"):
        made.writer(tmp_path, made.plan(form=StatesForm(hidden_size=8, captured=3, final_state=FinalState.POST)))


def test_a_complete_dump_is_not_written_to_again(tmp_path: Path) -> None:
    made.packed(tmp_path, made.records())

    with pytest.raises(Refused, match="is complete"):
        made.writer(tmp_path, made.plan())


def test_a_dump_without_a_manifest_is_unfinished(tmp_path: Path) -> None:
    writer = made.writer(tmp_path, made.plan())
    writer.append(made.record(0, 5))
    writer.flush()

    with pytest.raises(BrokenManifest, match="has not finished"):
        PackedDump(tmp_path)


def test_two_writers_never_share_a_shard(tmp_path: Path) -> None:
    first, second = (made.writer(tmp_path, made.plan()) for _ in range(2))
    first.append(made.record(0, 5))

    with pytest.raises(Busy, match="another program is writing"):
        second.append(made.record(1, 5))


def test_writers_of_different_prefixes_share_a_folder_and_one_manifest(tmp_path: Path) -> None:
    writers = [made.writer(tmp_path, made.plan(), prefix=f"worker-{number}") for number in range(2)]
    for index in range(4):
        writers[index % 2].append(made.record(index, 5))
    for writer in writers:
        writer.flush()
    shards = tuple(listed(shard) for writer in writers for shard in writer.shards)
    write_manifest(tmp_path, PackedManifest(plan=made.plan(), shards=shards))

    dump = PackedDump(tmp_path)

    assert [each.index for each in dump] == [0, 2, 1, 3]
    dump.close()


def test_a_writer_that_lost_records_never_writes_a_manifest(tmp_path: Path) -> None:
    abandoned = made.writer(tmp_path, made.plan())
    abandoned.append(made.record(0, 5))
    abandoned.abandon()
    failed = made.writer(tmp_path, made.plan())
    failed.append(made.record(0, 5))
    os.mkdir(tmp_path / "shard-00000.safetensors")  # in the way when it gets its name
    with pytest.raises(UsageError, match="appeared meanwhile"):
        failed.flush()

    for writer in (abandoned, failed):
        with pytest.raises(ValueError, match="not on disk"):
            writer.finish()
        with pytest.raises(ValueError, match="not on disk"):
            writer.append(made.record(1, 5))
    assert not (tmp_path / "manifest.json").exists()


def test_a_shard_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "shard-00000.safetensors"
    writer = ShardWriter(path, made.plan(), room_bytes=2**20)
    writer.append(made.record(0, 5))
    path.write_text("somebody else's")

    with pytest.raises(UsageError, match="appeared meanwhile"):
        writer.finish()

    assert path.read_text() == "somebody else's"


def test_the_room_is_allocated_before_the_first_record_and_what_is_left_given_back(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path / "x.safetensors", made.plan(), room_bytes=4 * 2**20)
    at_first = os.stat(tmp_path / "x.safetensors.partial").st_blocks * 512
    writer.append(made.record(0, 5))
    finished = writer.finish()

    assert at_first >= 4 * 2**20
    assert finished.path.stat().st_size == finished.size_bytes < 2**16
    assert finished.path.stat().st_blocks * 512 < 2**17


@CODECS
def test_a_cut_or_changed_shard_is_never_read_as_whole(tmp_path: Path, codec: Codec) -> None:
    path = one_shard(tmp_path, made.records(), codec)
    content = path.read_bytes()
    with open_shard(path) as shard:
        assert list(shard.problems()) == []

    for keep in (0, 4, 1000, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:keep])
        with pytest.raises(BrokenShard, match="torn"):
            open_shard(path)
    changed = bytearray(content)
    changed[6000] ^= 1
    path.write_bytes(changed)
    with open_shard(path) as shard:
        (problem,) = shard.problems()

    assert "hidden_states" in problem


def test_a_file_of_other_tensors_is_no_shard(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(4, np.float32)}, tmp_path / "x.safetensors")

    with pytest.raises(CheckFailed, match="no packed shard"):
        open_shard(tmp_path / "x.safetensors")
    with pytest.raises(FileNotFoundError):
        open_shard(tmp_path / "nothing.safetensors")


@CODECS
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("states", "[]"),
        ("states", str(StatesForm(hidden_size=9, captured=3, final_state=FinalState.POST))),
        ("run", "{}"),
        ("codec", "gzip"),
        ("rows_per_block", "0"),
        ("rows_per_block", "many"),
    ],
)
def test_a_shard_whose_header_contradicts_its_tensors_is_refused(
    tmp_path: Path, codec: Codec, name: str, value: str
) -> None:
    path = one_shard(tmp_path, made.records(), codec)
    made.rewrite_metadata(path, **{name: value})

    try:
        shard = open_shard(path)
    except BrokenShard:
        return
    with shard, pytest.raises(BrokenShard):
        shard[0]
