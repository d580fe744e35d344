"""`extract convert` on a real catalog: admitted, registered, resumed; what is broken is left out and told."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from artifactctl.api import Session, open_session
from artifactctl.domain.artifacts import ArtifactKind, LineageRole, ReplicaState, VerifyLevel
from artifactctl.domain.errors import ArtifactctlError, Busy, Refused, UsageError
from artifactctl.domain.verification import Depth
from artifactctl.inventory.verifying import verify
from extract.cli import extract
from extract.shards.converting import Conversion, Stopped, identity_of
from extract.shards.converting import convert as convert_dump
from extract.shards.dumps import DumpLayout, open_dump
from extract.shards.packing import PackedDump
from extract.shards.room import SHORTEST_PROMISE
from tests.artifacts import hidden_states
from tests.extract.shards import made
from tests.inventory.ground import ACTOR, HERE, NOON, Ground, ground_at

DIGESTS = Depth(level=VerifyLevel.DIGESTS)


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    monkeypatch.setenv("ARTIFACTCTL_CATALOG", str(tmp_path / "catalog.db"))
    with ground_at(tmp_path) as made_ground:
        yield made_ground


def convert(*words: str | Path) -> Result:
    return CliRunner().invoke(extract, ["convert", *(str(word) for word in words)])


def refusal(*words: str | Path) -> ArtifactctlError:
    done = convert(*words)
    assert isinstance(done.exception, ArtifactctlError), done.output
    return done.exception


def specforge(ground: Ground, lengths: tuple[int, ...] = (4, 6, 9)) -> Path:
    folder = hidden_states.specforge_dump(ground.data / "theirs", lengths=lengths)
    ground.scan()
    return folder


@pytest.mark.parametrize("codec", ["none", "planes"])
def test_a_specforge_dump_becomes_packed_shards_that_verify(ground: Ground, codec: str) -> None:
    folder = specforge(ground)
    out = ground.data / "packed"

    done = convert("scratch/theirs", "--to", "packed", "--codec", codec, "--out", out, "--json")
    (checked,) = verify(
        ground.host,
        ground.catalog,
        "scratch/packed",
        here=HERE,
        now=NOON,
        actor=ACTOR,
        depth=DIGESTS,
    )

    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer == {
        "schema": "artifactctl.extract_convert/1",
        "name": "scratch/packed",
        "path": str(out),
        "records": 3,
        "tokens": 19,
        "rejected": [],
    }
    assert checked.problems == ()
    artifact = ground.artifact("scratch/packed")
    assert (artifact.sealed, artifact.tokens, artifact.records) == (True, 19, 3)
    theirs, packed = open_dump(folder, [f"rows_0-2000/data_{number}.ckpt" for number in range(3)]), PackedDump(out)
    assert all(packed[number].is_same_as(theirs[number]) for number in range(3))
    assert packed.fingerprint.corpus == "scratch/theirs"
    packed.close()


def test_the_new_dump_came_from_the_first_and_no_room_stays_promised(ground: Ground) -> None:
    specforge(ground)

    assert convert("scratch/theirs", "--to", "packed", "--out", ground.data / "packed").exit_code == 0

    with ground.catalog.reading() as reading:
        edges = reading.parents(ground.artifact("scratch/packed").artifact_id)
        assert reading.reservations(NOON) == ()
        assert reading.leases(NOON) == ()
    assert [edge.role for edge in edges] == [LineageRole.EXTRACTED_FROM]


def test_packed_becomes_specforge_and_speculators_where_the_norm_fits(ground: Ground) -> None:
    made.packed(ground.data / "post", made.records())
    ground.scan()

    done = convert("scratch/post", "--to", "specforge", "--out", ground.data / "theirs", "--name", "theirs")
    (checked,) = verify(ground.host, ground.catalog, "theirs", here=HERE, now=NOON, actor=ACTOR)

    assert done.exit_code == 0, done.output
    assert done.stdout == "theirs: 5 records of 387 tokens\n"
    assert checked.problems == ()
    assert isinstance(refusal("scratch/post", "--to", "speculators", "--out", ground.data / "no"), Refused)
    assert not (ground.data / "no").exists()


def test_speculators_is_written_with_its_dataset_and_verifies(ground: Ground) -> None:
    from tests.extract.shards.test_dumps import PRE

    made.packed(ground.data / "pre", made.records(form=PRE), form=PRE)
    ground.scan()

    done = convert("scratch/pre", "--to", "speculators", "--out", ground.data / "theirs")
    (checked,) = verify(ground.host, ground.catalog, "scratch/theirs", here=HERE, now=NOON, actor=ACTOR)

    assert done.exit_code == 0, done.output
    assert checked.problems == ()
    assert {path.name for path in (ground.data / "theirs").iterdir()} == {
        "data-00000-of-00001.arrow",
        "dataset_info.json",
        "state.json",
        "hidden_states",
    }


def test_broken_records_are_left_out_told_and_exit_5(ground: Ground) -> None:
    folder = specforge(ground)
    (folder / "rows_0-2000" / "data_1.ckpt").write_bytes(b"torn")

    done = convert("scratch/theirs", "--to", "packed", "--out", ground.data / "packed")

    assert done.exit_code == 5
    assert done.stdout.splitlines()[0] == "scratch/packed: 2 records of 13 tokens"
    assert done.stdout.splitlines()[1].startswith("  left out: record 1: it cannot be read")


def test_an_interrupted_conversion_goes_on_and_a_complete_one_is_left_alone(ground: Ground) -> None:
    specforge(ground)
    out = ground.data / "packed"
    out.mkdir()
    (out / "manifest.json.partial").touch()  # the last thing that a killed run leaves
    assert convert("scratch/theirs", "--to", "packed", "--out", out, "--json").exit_code == 0

    assert isinstance(refusal("scratch/theirs", "--to", "packed", "--out", out), Refused)
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "shard-00000.safetensors"]


def test_a_run_that_was_killed_between_its_manifest_and_the_catalog_is_sealed_by_the_next(ground: Ground) -> None:
    specforge(ground)
    out = ground.data / "packed"
    assert convert("scratch/theirs", "--to", "packed", "--out", out).exit_code == 0
    moved = ground.data / "again"
    moved.mkdir()
    with open_session() as session:
        building = session.register(moved, kind=ArtifactKind.HIDDEN_STATES, name="again", building=True)
        wanted = Conversion(name="scratch/theirs", layout=DumpLayout.PACKED, out=moved)
        session.divide(building, fingerprint=identity_of(wanted, session.artifact("scratch/theirs")), shares=1)
    for path in out.iterdir():
        (moved / path.name).write_bytes(path.read_bytes())

    done = convert("scratch/theirs", "--to", "packed", "--out", moved)

    assert (done.exit_code, done.stdout) == (0, "again: 3 records of 19 tokens\n")
    assert ground.artifact("again").sealed


def test_what_cannot_be_converted_is_refused_before_anything_is_made(ground: Ground, tmp_path: Path) -> None:
    specforge(ground)
    (ground.data / "other.jsonl").write_text('{"text": "x"}\n')
    ground.scan()

    for words in (
        ("scratch/nothing", "--to", "packed", "--out", ground.data / "a"),
        ("scratch/other.jsonl", "--to", "packed", "--out", ground.data / "a"),
        ("scratch/theirs", "--to", "packed", "--out", tmp_path / "outside"),
        ("scratch/theirs", "--to", "specforge", "--codec", "planes", "--out", ground.data / "a"),
    ):
        assert isinstance(refusal(*words), UsageError)
    assert not (ground.data / "a").exists()
    assert not (tmp_path / "outside").exists()


def test_a_run_that_fails_leaves_the_artifact_building_and_gives_the_room_back(ground: Ground) -> None:
    specforge(ground)
    out = ground.data / "packed"
    out.mkdir()
    (out / "shard-00000.safetensors").write_bytes(b"somebody else's")

    refusal("scratch/theirs", "--to", "packed", "--out", out)

    assert ground.artifact("scratch/packed").replicas[0].state is ReplicaState.BUILDING
    with ground.catalog.reading() as reading:
        assert reading.reservations(NOON) == ()
    with open_session() as session:
        assert isinstance(session, Session)


def test_a_conversion_that_is_stopped_says_so_and_goes_on_the_next_time(ground: Ground) -> None:
    made.packed(ground.data / "source", made.records((200,) * 12), shard_bytes=32 * 1024)
    ground.scan()
    wanted = Conversion(
        name="scratch/source", layout=DumpLayout.PACKED, out=ground.data / "copy", shard_bytes=32 * 1024
    )
    seen = 0

    def stop_at_the_seventh(_amount: int) -> None:
        nonlocal seen
        seen += 1
        if seen == 7:
            raise KeyboardInterrupt

    with open_session() as session, pytest.raises(Stopped) as stopped:
        convert_dump(session, wanted, progress=stop_at_the_seventh)
    whole = sorted(path.name for path in (ground.data / "copy").glob("*.safetensors"))
    with open_session() as session:
        converted = convert_dump(session, wanted, progress=lambda _amount: None)

    assert stopped.value.exit_code == 5
    assert 0 < len(whole) < len(list((ground.data / "copy").glob("*.safetensors")))
    assert (converted.records, converted.tokens, converted.artifact.sealed) == (12, 2400, True)
    source, copy = PackedDump(ground.data / "source"), PackedDump(ground.data / "copy")
    assert all(copy[number].is_same_as(source[number]) for number in range(12))
    source.close()
    copy.close()


def test_a_conversion_of_something_else_never_joins_one_that_was_begun(ground: Ground) -> None:
    made.packed(ground.data / "first", made.records((200,) * 3))
    made.packed(ground.data / "second", made.records((90,) * 3))
    ground.scan()
    out = ground.data / "copy"
    first = Conversion(name="scratch/first", layout=DumpLayout.SPECFORGE, out=out)
    with open_session() as session, pytest.raises(Stopped):
        convert_dump(session, first, progress=_interrupt)

    refused = refusal("scratch/second", "--to", "specforge", "--out", out)

    assert isinstance(refused, Refused)
    assert refused.message == (f"{out} was begun by another run: source scratch/second here, scratch/first there")
    assert convert("scratch/first", "--to", "specforge", "--out", out).exit_code == 0
    assert ground.artifact("scratch/copy").tokens == 600


def test_a_conversion_never_writes_into_what_another_program_is_making(ground: Ground) -> None:
    specforge(ground)
    with open_session() as session:
        for name, kind in (("states", ArtifactKind.HIDDEN_STATES), ("answers", ArtifactKind.RESPONSE_SET)):
            (ground.data / name).mkdir()
            (ground.data / name / "theirs").touch()
            session.register(ground.data / name, kind=kind, name=name, building=True)
        extraction = ground.data / "extraction"
        extraction.mkdir()
        building = session.register(extraction, kind=ArtifactKind.HIDDEN_STATES, name="extraction", building=True)
        session.divide(building, fingerprint={"corpus": "c"}, shares=2)

    for name in ("states", "answers", "extraction"):
        before = sorted((ground.data / name).iterdir())
        assert isinstance(refusal("scratch/theirs", "--to", "packed", "--out", ground.data / name), Refused)
        assert sorted((ground.data / name).iterdir()) == before
        assert ground.artifact(name).replicas[0].state is ReplicaState.BUILDING


def test_two_conversions_to_one_place_do_not_mix_and_one_that_died_promises_nothing_twice(ground: Ground) -> None:
    specforge(ground)
    out = ground.data / "packed"
    wanted = Conversion(name="scratch/theirs", layout=DumpLayout.PACKED, out=out)
    promised: list[int] = []

    def look(_amount: int) -> None:
        if not promised:
            promised.append(-1)
            assert isinstance(refusal("scratch/theirs", "--to", "packed", "--out", out), Busy)
            with ground.catalog.reading() as reading:
                promised[0] = len(reading.reservations(NOON))

    out.mkdir()
    with open_session() as session:
        session.reserve(
            out,
            reserved_bytes=2**20,
            purpose=f"conversion of scratch/theirs to {out}",
            until=session.now + SHORTEST_PROMISE,
        )
        assert convert_dump(session, wanted, progress=look).records == 3

    assert promised == [1]
    with ground.catalog.reading() as reading:
        assert reading.reservations(NOON) == ()


def test_records_that_were_left_out_are_shown_as_missing(ground: Ground) -> None:
    folder = specforge(ground)
    (folder / "rows_0-2000" / "data_1.ckpt").write_bytes(b"torn")
    convert("scratch/theirs", "--to", "packed", "--out", ground.data / "packed")

    with ground.catalog.reading() as reading:
        (share,) = reading.shares(ground.artifact("scratch/packed").artifact_id)

    assert list(share.rejected) == [1]
    assert (share.is_finished, share.records, share.tokens) == (True, 2, 13)


@pytest.mark.parametrize("layout", ["packed", "specforge"])
def test_a_stranger_at_the_place_never_becomes_part_of_the_new_dump(ground: Ground, layout: str) -> None:
    made.packed(ground.data / "post", made.records())
    ground.scan()
    out = ground.data / "theirs"
    out.mkdir()
    (out / "precious.txt").write_text("ours alone")
    (ground.data / "file").touch()

    for place, said in ((out, f"{out}/precious.txt is there already"), (ground.data / "file", "is there already")):
        refused = refusal("scratch/post", "--to", layout, "--out", place)
        assert isinstance(refused, Refused)
        assert said in refused.message
    assert [path.name for path in out.iterdir()] == ["precious.txt"]


def test_shards_of_no_size_are_refused(ground: Ground) -> None:
    specforge(ground)

    assert isinstance(
        refusal("scratch/theirs", "--to", "packed", "--shard-size", "0B", "--out", ground.data / "no"), UsageError
    )


def _interrupt(_amount: int) -> None:
    raise KeyboardInterrupt
