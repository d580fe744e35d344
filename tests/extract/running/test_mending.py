"""The same command once more: what was lost since is extracted again, what was rejected is tried once more."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artifactctl.api.formats import Codec
from artifactctl.domain.errors import CheckFailed, Refused
from extract.running.engine import Outcome, Unable
from extract.running.outcomes import Stopped
from extract.shards.packing import PackedDump
from tests.extract.running.arithmetic import ArithmeticEngine, shards_of
from tests.extract.running.site import Site
from tests.extract.running.test_run import after

CODECS = pytest.mark.parametrize("codec", list(Codec), ids=[codec.value for codec in Codec])
HOLES = (7, 8, 41)


def taken_away(path: Path) -> None:
    path.unlink()


def torn(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def one_bit_changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGE = pytest.mark.parametrize("damage", [taken_away, torn, empty, one_bit_changed])


def shard(site: Site, position: int) -> Path:
    return sorted(site.out.glob("shard-*.safetensors"))[position]


def records_of(path: Path) -> list[int]:
    dump = PackedDump(path.parent)
    whole = dict(zip(shards_of(path.parent), dump.manifest.shards, strict=True))
    before = sum(listed.records for name, listed in whole.items() if name < path.name)
    found = [dump[position].index for position in range(before, before + whole[path.name].records)]
    dump.close()
    return found


def unable(*indexes: int) -> ArithmeticEngine:
    """Return an engine that cannot compute some records."""

    def alter(outcome: Any) -> Outcome:
        return Unable(index=outcome.index, reason="the server was asleep") if outcome.index in indexes else outcome

    return ArithmeticEngine(alter=alter)


def present(site: Site) -> list[int]:
    dump = PackedDump(site.out)
    found = [record.index for record in dump]
    dump.close()
    return found


@CODECS
@DAMAGE
def test_a_lost_shard_of_a_complete_set_is_extracted_again_and_no_other(
    site: Site, codec: Codec, damage: Callable[[Path], None]
) -> None:
    site.run(name="states", codec=codec)
    whole = shards_of(site.out)
    lost = shard(site, 2)
    expected = records_of(lost)
    untouched = {path.name: path.stat().st_ino for path in site.out.glob("shard-*") if path != lost}
    damage(lost)
    engine = ArithmeticEngine()

    again = site.run(engine, codec=codec)

    assert sorted(engine.computed) == expected
    assert shards_of(site.out) == whole
    assert untouched.items() <= {path.name: path.stat().st_ino for path in site.out.glob("shard-*")}.items()
    assert (again.records, again.rejected) == (60, {})
    assert present(site) == list(range(60))
    (told,) = site.events("lost")
    assert lost.name in told["message"]
    shown = site.json("show", "states")
    assert (shown["state"], shown["records"], [run["state"] for run in shown["runs"]]) == (
        "live",
        60,
        ["succeeded"] * 2,
    )
    assert site.json("verify", "states", "--level", "digests")["results"][0]["ok"]
    assert site.json("reservation", "ls")["reservations"] == []
    (reopened,) = site.json("audit", "ls", "--action", "artifact.reopen")["events"]
    assert lost.name in reopened["reason"]


def test_a_byte_that_changed_without_a_trace_is_mended_after_verify_found_it(site: Site) -> None:
    site.run(name="states")
    whole = shards_of(site.out)
    damaged = shard(site, 1)
    times = damaged.stat()
    one_bit_changed(damaged)
    os.utime(damaged, ns=(times.st_atime_ns, times.st_mtime_ns))
    engine = ArithmeticEngine()
    site.run(engine)
    assert engine.computed == []
    site.command("verify", "states", "--level", "digests", code=3)

    site.run(engine)

    assert len(engine.computed) > 0
    assert shards_of(site.out) == whole
    assert site.json("verify", "states", "--level", "digests")["results"][0]["ok"]


@DAMAGE
def test_a_shard_that_is_lost_before_the_set_is_complete_is_extracted_again(
    site: Site, damage: Callable[[Path], None]
) -> None:
    site.run(out=site.root / "undisturbed")
    with pytest.raises(Stopped):
        site.run(should_stop=after(30))
    damage(shard(site, 0))

    site.run()

    assert shards_of(site.out) == shards_of(site.root / "undisturbed")


def test_a_lost_manifest_is_written_again_and_nothing_computed(site: Site) -> None:
    site.run()
    before = (site.out / "manifest.json").read_bytes()
    (site.out / "manifest.json").unlink()
    engine = ArithmeticEngine()

    site.run(engine)

    assert engine.computed == []
    assert (site.out / "manifest.json").read_bytes() == before


def test_a_set_whose_folder_is_gone_is_extracted_again(site: Site) -> None:
    site.run(name="states")
    whole = shards_of(site.out)
    for path in site.out.iterdir():
        path.unlink()
    site.out.rmdir()
    site.command("scan", "vol")

    site.run()

    assert shards_of(site.out) == whole
    assert site.json("show", "states")["state"] == "live"


def test_a_shard_of_something_else_at_the_place_is_not_replaced(site: Site) -> None:
    site.run()
    first, second = shard(site, 0), shard(site, 1)
    first.write_bytes(second.read_bytes())

    with pytest.raises(Refused, match="its records are not those of its range"):
        site.run()

    assert first.read_bytes() == second.read_bytes()


def test_a_set_that_somebody_reads_is_not_mended_under_them(site: Site) -> None:
    site.run(name="states")
    shard(site, 0).unlink()
    with site.open() as session, session.lease(["states"], until=session.now.replace(year=session.now.year + 1)):
        with pytest.raises(Refused, match="in use by"):
            site.run()

        assert site.json("show", "states")["state"] == "live"
        assert (site.out / "manifest.json").exists()

    assert site.run().records == 60


def test_a_shard_that_goes_each_time_it_was_made_is_an_error_and_not_a_loop(site: Site) -> None:
    site.run()
    going = shard(site, 3)
    going.unlink()

    def take_away_again() -> bool:
        going.unlink(missing_ok=True)
        return False

    with pytest.raises(CheckFailed, match="for the second time"):
        site.run(should_stop=take_away_again)


@CODECS
def test_a_record_that_was_rejected_is_tried_once_by_each_run_and_joins_its_shard_when_it_can_be_had(
    site: Site, codec: Codec
) -> None:
    site.run(out=site.root / "undisturbed", codec=codec)
    site.run(unable(*HOLES), codec=codec, name="states")
    with_holes = shards_of(site.out)
    manifest = (site.out / "manifest.json").stat().st_mtime_ns

    in_vain, with_one, with_all = unable(*HOLES), unable(*HOLES[1:]), ArithmeticEngine()
    nothing = site.run(in_vain, codec=codec)

    assert sorted(nothing.rejected) == in_vain.computed == list(HOLES)
    assert shards_of(site.out) == with_holes
    assert (site.out / "manifest.json").stat().st_mtime_ns == manifest

    one = site.run(with_one, codec=codec)

    assert sorted(one.rejected) == list(HOLES[1:])
    assert with_one.computed == list(HOLES)
    assert present(site) == [index for index in range(60) if index not in HOLES[1:]]
    assert [each["index"] for each in site.json("show", "states")["missing_records"]] == list(HOLES[1:])

    everything = site.run(with_all, codec=codec)

    assert (everything.records, everything.rejected, with_all.computed) == (60, {}, list(HOLES[1:]))
    assert shards_of(site.out) == shards_of(site.root / "undisturbed")
    assert site.json("show", "states")["missing_records"] == []
    assert site.json("verify", "states", "--level", "digests")["results"][0]["ok"]


def test_a_retry_that_is_killed_before_its_shard_has_its_name_leaves_the_former_one(site: Site) -> None:
    site.run(unable(*HOLES), name="states")
    before = shards_of(site.out)

    with pytest.raises(Stopped):
        site.run(should_stop=after(3))

    assert shards_of(site.out) == before
    assert list(site.out.glob("*.partial")) == []
    assert site.json("show", "states")["state"] == "building"
    again = site.run(unable(8))
    assert (again.records, list(again.rejected)) == (59, [8])
    assert present(site) == [index for index in range(60) if index != 8]
