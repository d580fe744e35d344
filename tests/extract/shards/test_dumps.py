"""Dumps of SpecForge and speculators are read where they lie, and convert into each other's layout bit for bit."""

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from artifactctl.api.formats import Codec, ElementType, FinalState
from artifactctl.domain.errors import CheckFailed, Refused, UsageError
from extract.shards.converting import copy_records
from extract.shards.dumps import Dump, DumpWriter, open_dump
from extract.shards.form import StatesForm
from extract.shards.packing import PackedDump, PackedWriter
from extract.shards.records import BrokenRecord, StateRecord
from extract.shards.specforge import SpecForgeWriter
from extract.shards.speculators import SpeculatorsWriter
from tests.artifacts import hidden_states
from tests.extract.shards import made

POST = made.FORM
PRE = StatesForm(hidden_size=8, captured=3, layers=(2, 15, 27), final_state=FinalState.PRE)
PRE_WITHOUT_MASKS = StatesForm(hidden_size=8, captured=3, final_state=FinalState.PRE, has_loss_mask=False)


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def opened(folder: Path) -> Dump:
    return open_dump(folder, files_in(folder))


def rewritten(dump: Dump, writer: DumpWriter) -> tuple[int, int, int]:
    copied = copy_records(dump, writer, lambda _amount: None)
    dump.close()
    return copied.records, copied.tokens, len(copied.rejected)


def new_folder(place: Path) -> Path:
    place.mkdir()
    return place


def contents(dump: Dump) -> list[StateRecord]:
    found = [dump[position] for position in range(len(dump))]
    dump.close()
    return found


def all_same(found: list[StateRecord], expected: list[StateRecord]) -> bool:
    return [each.index for each in found] == [each.index for each in expected] and all(
        mine.is_same_as(theirs) for mine, theirs in zip(found, expected, strict=True)
    )


FOREIGN = pytest.mark.parametrize(
    ("writer", "form"),
    [(SpecForgeWriter, POST), (SpeculatorsWriter, PRE), (SpeculatorsWriter, PRE_WITHOUT_MASKS)],
    ids=["specforge", "speculators", "speculators without a dataset"],
)


@FOREIGN
@pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])
def test_packed_to_theirs_and_back_is_exact(
    tmp_path: Path, writer: Callable[[Path, StatesForm], DumpWriter], form: StatesForm, codec: Codec
) -> None:
    records = [made.record(index * 7, tokens, form) for index, tokens in enumerate((5, 1, 300, 17))]
    packed = made.packed(tmp_path / "packed", records, codec=codec, form=form)

    rewritten(PackedDump(packed), writer(new_folder(tmp_path / "theirs"), form))
    theirs = opened(tmp_path / "theirs")
    again = made.writer(new_folder(tmp_path / "again"), made.plan(codec, theirs.form))
    counted = rewritten(theirs, again)

    assert counted == (4, 323, 0)
    assert all_same(contents(opened(tmp_path / "again")), records)


def test_their_specforge_dump_through_packed_is_the_same_tensors(tmp_path: Path) -> None:
    hidden_states.specforge_dump(tmp_path / "theirs", lengths=(4, 6, 9), group=2)
    theirs = opened(tmp_path / "theirs")

    rewritten(theirs, made.writer(new_folder(tmp_path / "packed"), made.plan(form=theirs.form)))
    rewritten(opened(tmp_path / "packed"), SpecForgeWriter(new_folder(tmp_path / "back"), theirs.form))

    for number in range(3):
        (before,) = (tmp_path / "theirs").glob(f"*/data_{number}.ckpt")
        (after,) = (tmp_path / "back").glob(f"*/data_{number}.ckpt")
        first, second = (torch.load(path, weights_only=True) for path in (before, after))
        assert set(first) == set(second)
        assert all(torch.equal(first[key], second[key]) and first[key].dtype == second[key].dtype for key in first)


def test_their_speculators_dump_through_packed_is_the_same_tensors(tmp_path: Path) -> None:
    hidden_states.speculators_dump(tmp_path / "theirs")
    theirs = opened(tmp_path / "theirs")

    rewritten(theirs, made.writer(new_folder(tmp_path / "packed"), made.plan(form=theirs.form)))
    rewritten(opened(tmp_path / "packed"), SpeculatorsWriter(new_folder(tmp_path / "back"), theirs.form))

    for number in range(3):
        first, second = (
            load_file(top / f"hs_{number}.safetensors")
            for top in (tmp_path / "theirs", tmp_path / "back" / "hidden_states")
        )
        assert all(torch.equal(first[key], second[key]) and first[key].dtype == second[key].dtype for key in first)


def test_gzipped_samples_are_read_as_well(tmp_path: Path) -> None:
    hidden_states.specforge_dump(tmp_path / "theirs", lengths=(4, 6), packed=True)

    assert [each.tokens for each in contents(opened(tmp_path / "theirs"))] == [4, 6]


def test_a_final_state_after_the_norm_never_passes_for_one_before_it(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="before the norm"):
        SpeculatorsWriter(tmp_path, POST)
    with pytest.raises(Refused, match="after the final norm"):
        SpecForgeWriter(tmp_path, PRE)
    with pytest.raises(Refused, match="after the final norm"):
        SpecForgeWriter(tmp_path, StatesForm(hidden_size=8, captured=3))
    assert list(tmp_path.iterdir()) == []


class Detonator:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return (Path.touch, (self.trace,))


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    hidden_states.specforge_dump(tmp_path, lengths=(4,), packed=True)
    (tmp_path / "rows_0-2000" / "data_1.ckpt.gz").write_bytes(gzip.compress(bytes(200_000_000), 9))

    with pytest.raises(BrokenRecord, match="unpacks to more"):
        opened(tmp_path)[1]


def sample(**changes: object) -> dict[str, object]:
    whole: dict[str, object] = {
        "input_ids": torch.arange(5),
        "loss_mask": torch.ones(5, dtype=torch.int64),
        "hidden_state": torch.zeros(1, 5, 8, dtype=torch.bfloat16),
        "aux_hidden_state": torch.zeros(1, 5, 24, dtype=torch.bfloat16),
    }
    return {key: value for key, value in (whole | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (sample(hidden_state=None), "no EAGLE-3 sample"),
        (sample(extra=torch.zeros(1)), "no EAGLE-3 sample"),
        ([1, 2], "it has list"),
        (sample(loss_mask=[1, 1, 1, 1, 1]), "no tensor"),
        (sample(input_ids=torch.arange(6)), "int64"),
        (sample(input_ids=torch.arange(5, dtype=torch.int32)), "int64"),
        (sample(hidden_state=torch.zeros(1, 4, 8, dtype=torch.bfloat16)), "not those of 5 tokens"),
        (sample(hidden_state=torch.zeros(1, 5, 8)), "float32"),
        (sample(hidden_state=torch.zeros(1, 5, 7, dtype=torch.bfloat16)), "no multiple"),
        (sample(hidden_state=torch.zeros(1, 5, 4, dtype=torch.bfloat16)), "not of the same form"),
        (sample(loss_mask=torch.full((5,), 2)), "other values"),
    ],
)
def test_a_sample_that_is_something_else_is_a_broken_record(tmp_path: Path, content: object, reason: str) -> None:
    hidden_states.specforge_dump(tmp_path, lengths=(4, 6))
    torch.save(content, tmp_path / "rows_0-2000" / "data_1.ckpt")
    dump = opened(tmp_path)

    assert dump[0].tokens == 4
    with pytest.raises(BrokenRecord, match=reason) as broken:
        dump[1]
    assert broken.value.index == 1


@pytest.mark.parametrize("suffix", [".ckpt", ".ckpt.gz"])
@pytest.mark.parametrize("keep", [0.0, 0.01, 0.5, 0.99])
def test_a_torn_sample_is_a_broken_record(tmp_path: Path, suffix: str, keep: float) -> None:
    hidden_states.specforge_dump(tmp_path, lengths=(4, 600), packed=suffix.endswith("gz"))
    path = tmp_path / "rows_0-2000" / f"data_1{suffix}"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])

    with pytest.raises(BrokenRecord, match="cannot be read"):
        opened(tmp_path)[1]


def test_a_hostile_sample_is_never_executed(tmp_path: Path) -> None:
    hidden_states.specforge_dump(tmp_path / "dump", lengths=(4, 6, 8))
    rows = tmp_path / "dump" / "rows_0-2000"
    torch.save(sample(loss_mask=Detonator(tmp_path / "trace")), rows / "data_1.ckpt")
    (rows / "data_2.ckpt").write_bytes(pickle.dumps(Detonator(tmp_path / "trace")))
    (rows / "data_3.ckpt.gz").write_bytes(gzip.compress(pickle.dumps(Detonator(tmp_path / "trace"))))
    dump = opened(tmp_path / "dump")

    for number in (1, 2, 3):
        with pytest.raises(BrokenRecord):
            dump[number]

    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ({"token_ids": torch.arange(4)}, "not token_ids and hidden_states"),
        ({"token_ids": torch.arange(3), "hidden_states": torch.zeros(4, 4, 8)}, "do not fit together"),
        ({"token_ids": torch.arange(4), "hidden_states": torch.zeros(4, 4, 8, dtype=torch.int16)}, "I16"),
        ({"token_ids": torch.arange(4), "hidden_states": torch.zeros(4, 4, 8)}, "not of the same form"),
    ],
)
def test_a_speculators_file_that_is_something_else_is_a_broken_record(
    tmp_path: Path, tensors: dict[str, torch.Tensor], reason: str
) -> None:
    hidden_states.speculators_dump(tmp_path)
    save_file(tensors, tmp_path / "hs_1.safetensors")

    with pytest.raises(BrokenRecord, match=reason):
        opened(tmp_path)[1]


def test_a_torn_speculators_file_is_a_broken_record_and_the_others_are_read(tmp_path: Path) -> None:
    hidden_states.speculators_dump(tmp_path)
    path = tmp_path / "hs_0.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    dump = opened(tmp_path)

    with pytest.raises(BrokenRecord, match="torn: 5 bytes"):
        dump[0]
    assert dump[2].tokens == 9


def test_ids_that_are_not_those_of_the_dataset_are_a_broken_record(tmp_path: Path) -> None:
    records = [made.record(index, 4, PRE) for index in range(2)]
    writer = SpeculatorsWriter(tmp_path, PRE)
    for each in records:
        writer.append(each)
    writer.complete()
    path = tmp_path / "hidden_states" / "hs_1.safetensors"
    path.unlink()
    save_file({"token_ids": torch.arange(4), "hidden_states": torch.zeros(4, 4, 8, dtype=torch.bfloat16)}, path)
    dump = opened(tmp_path)

    assert dump[0].is_same_as(records[0])
    with pytest.raises(BrokenRecord, match="other token ids"):
        dump[1]


def test_broken_records_are_left_out_and_listed_and_the_rest_is_written(tmp_path: Path) -> None:
    hidden_states.specforge_dump(tmp_path / "theirs", lengths=(4, 6, 9))
    (tmp_path / "theirs" / "rows_0-2000" / "data_1.ckpt").write_bytes(b"torn")
    theirs = opened(tmp_path / "theirs")
    writer = made.writer(new_folder(tmp_path / "packed"), made.plan(form=theirs.form))

    assert rewritten(theirs, writer) == (2, 13, 1)
    packed = PackedDump(tmp_path / "packed")
    assert [each.index for each in packed] == [0, 2]
    assert [each.index for each in packed.manifest.rejected] == [1]
    packed.close()


def test_a_dump_of_which_nothing_can_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "rows_0-2000").mkdir()
    (tmp_path / "rows_0-2000" / "data_0.ckpt").write_bytes(b"torn")

    with pytest.raises(CheckFailed, match="none of the 1 samples"):
        opened(tmp_path)
    with pytest.raises(UsageError, match="neither packed shards nor"):
        open_dump(tmp_path, ["notes.txt"])
    with pytest.raises(UsageError, match="are both record 0"):
        open_dump(tmp_path, ["rows_0-2/data_0.ckpt", "rows_0-4/data_0.ckpt"])


@FOREIGN
def test_writing_goes_on_over_what_is_there_and_never_over_another_record(
    tmp_path: Path, writer: Callable[[Path, StatesForm], DumpWriter], form: StatesForm
) -> None:
    first = writer(tmp_path, form)
    first.append(made.record(0, 5, form))
    first.abandon()
    second = writer(tmp_path, form)
    second.append(made.record(0, 5, form))
    second.append(made.record(1, 5, form))
    second.complete()

    assert all_same(contents(opened(tmp_path)), [made.record(index, 5, form) for index in range(2)])
    third = writer(tmp_path, form)  # after a run that came to the end and could not say so any more
    for index in range(2):
        third.append(made.record(index, 5, form))
    third.complete()
    other = made.record(0, 5, form)
    other.states[0, 0] ^= 1
    with pytest.raises(Refused, match="holds another record"):
        writer(tmp_path, form).append(other)


def test_a_dataset_that_is_there_has_to_hold_the_same_rows(tmp_path: Path) -> None:
    writer = SpeculatorsWriter(tmp_path, PRE)
    writer.append(made.record(0, 5, PRE))
    writer.complete()
    first = made.record(0, 5, PRE)
    assert first.loss_mask is not None
    other = StateRecord(index=0, token_ids=first.token_ids, loss_mask=1 - first.loss_mask, states=first.states)

    with pytest.raises(Refused, match="holds other rows"):
        SpeculatorsWriter(tmp_path, PRE).append(other)


def test_records_of_equal_ids_are_each_kept_also_when_a_run_goes_on(tmp_path: Path) -> None:
    twins = [made.record(index, 200) for index in (0, 1, 2)]
    twins = [
        StateRecord(index=each.index, token_ids=twins[0].token_ids, loss_mask=each.loss_mask, states=each.states)
        for each in twins
    ]
    source = made.packed(tmp_path / "source", twins)
    begun = PackedWriter(new_folder(tmp_path / "copy"), made.plan(), shard_bytes=2**14)
    begun.append(twins[0])
    begun.flush()

    again = PackedWriter(tmp_path / "copy", made.plan(), shard_bytes=2**14)
    rewritten(PackedDump(source), again)

    assert all_same(contents(opened(tmp_path / "copy")), twins)


@pytest.mark.parametrize("element", [ElementType.FP16, ElementType.FP32])
def test_other_element_types_go_through_both_layouts(tmp_path: Path, element: ElementType) -> None:
    form = StatesForm(hidden_size=8, captured=3, final_state=FinalState.POST, element=element)
    records = made.records((3, 4), form)

    rewritten(
        PackedDump(made.packed(tmp_path / "p", records, form=form)), SpecForgeWriter(new_folder(tmp_path / "s"), form)
    )

    assert all_same(contents(opened(tmp_path / "s")), records)
    assert np.dtype(opened(tmp_path / "s")[0].states.dtype).itemsize == element.element_bytes
