"""One walk over real files: what is found, what it weighs, who uses it, what points at it."""

import os
import shutil
from pathlib import Path

import pytest

from artifactctl.hosts.local import LocalHost
from artifactctl.recognition.seen import join
from artifactctl.recognition.sightings import Layout
from artifactctl.rescue.finds import Find, Findings
from artifactctl.rescue.searching import Search
from tests.artifacts.checkpoints import hub_model
from tests.bench import holders
from tests.rescue.ground import checkpoint, dump, shard


def search(top: Path, *, folders: int | None = None) -> Findings:
    """Search `top`; after so many folders the time is up."""
    host, place = LocalHost(), os.fsencode(top)
    seen = iter(range(folders if folders is not None else 10**9))
    looking = Search(
        (place,),
        lambda relative, offset, length: host.read_range(join(place, relative), offset, length),
        host.uses_on_volume(place),
        is_over=lambda: folders is not None and next(seen, None) is None,
        progress=lambda _: None,
    )
    looking.run(host.walk(place))
    return looking.findings()


def names(finds: tuple[Find, ...]) -> list[str]:
    return sorted(os.fsdecode(find.relative) for find in finds)


def disk_usage(path: Path) -> int:
    everything = (path, *path.rglob("*"))
    return sum({s.st_ino: s.st_blocks * 512 for s in (place.lstat() for place in everything)}.values())


def test_artifacts_are_found_with_their_weight(tmp_path: Path) -> None:
    dump(tmp_path / "hidden")
    checkpoint(tmp_path / "run", 100, loss=0.5)
    (tmp_path / "notes.txt").write_text("mine")

    found = search(tmp_path)

    assert names(found.finds) == ["hidden", "run/checkpoint-100"]
    assert {find.relative: find.allocated_bytes for find in found.finds} == {
        b"hidden": disk_usage(tmp_path / "hidden"),
        b"run/checkpoint-100": disk_usage(tmp_path / "run/checkpoint-100"),
    }
    assert found.complete
    assert found.seen_bytes == disk_usage(tmp_path)
    assert dict(found.unclaimed) == {b"notes.txt": disk_usage(tmp_path / "notes.txt")}


def test_a_second_name_elsewhere_keeps_the_bytes(tmp_path: Path) -> None:
    kept = dump(tmp_path / "hidden") / "shard-00000.safetensors"
    os.link(kept, tmp_path / "other-name.bin")

    (find,) = search(tmp_path).finds

    assert find.allocated_bytes - find.freed_bytes == kept.stat().st_blocks * 512


def test_two_names_inside_count_once_and_come_free(tmp_path: Path) -> None:
    dump(tmp_path / "hidden")
    os.link(tmp_path / "hidden/shard-00000.safetensors", tmp_path / "hidden/shard-00009.safetensors")

    (find,) = search(tmp_path).finds

    assert find.allocated_bytes == find.freed_bytes == disk_usage(tmp_path / "hidden")


def test_leftovers_are_found_by_name_and_nothing_inside_of_them_is_an_artifact(tmp_path: Path) -> None:
    dump(tmp_path / "hidden.tmp")
    shard(tmp_path / "run/tmp-checkpoint-300/model.safetensors", 5000)
    (tmp_path / "download.partial").write_bytes(b"x" * 5000)
    (tmp_path / "empty.tmp").touch()

    found = search(tmp_path)

    assert names(found.leftovers) == ["download.partial", "hidden.tmp", "run/tmp-checkpoint-300"]
    assert found.finds == ()


def test_a_torn_shard_is_found(tmp_path: Path) -> None:
    dump(tmp_path / "hidden", shards=4)
    os.truncate(tmp_path / "hidden/shard-00002.safetensors", 30_000)

    found = search(tmp_path)

    assert names(found.torn) == ["hidden/shard-00002.safetensors"]
    assert found.torn[0].problems


def test_links_and_text_files_point(tmp_path: Path) -> None:
    for step in (100, 200):
        checkpoint(tmp_path / "run", step, loss=0.5)
    (tmp_path / "run/best").symlink_to("checkpoint-100")
    (tmp_path / "absolute").symlink_to(tmp_path / "run/checkpoint-200/config.json")
    (tmp_path / "run/latest_checkpointed_iteration.txt").write_text("200\n")
    (tmp_path / "away").symlink_to("/etc/passwd")

    found = search(tmp_path)

    assert {(p.relative, p.target) for p in found.pointers} == {
        (b"run/best", b"run/checkpoint-100"),
        (b"absolute", b"run/checkpoint-200/config.json"),
        (b"run/latest_checkpointed_iteration.txt", b"run/checkpoint-200"),
    }


@pytest.mark.parametrize("way", [holders.descriptor, holders.mapping])
def test_who_uses_a_file_inside_is_named(tmp_path: Path, way) -> None:  # type: ignore[no-untyped-def]
    dump(tmp_path / "hidden")
    dump(tmp_path / "free")

    with way(tmp_path / "hidden/shard-00001.safetensors") as process:
        found = search(tmp_path)

    held = {find.relative: {holder.pid for holder in find.holders} for find in found.finds}
    assert held == {b"free": set(), b"hidden": {process}}


def test_who_stands_in_a_folder_is_named(tmp_path: Path) -> None:
    checkpoint(tmp_path / "run", 1, loss=0.5)

    with holders.working_directory(tmp_path / "run/checkpoint-1") as process:
        (find,) = search(tmp_path).finds

    assert process in {holder.pid for holder in find.holders}


def test_an_unfinished_search_says_where_it_stopped_and_counts_nothing_twice_or_half(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        dump(tmp_path / name)

    whole = search(tmp_path)
    for folders in range(30):
        part = search(tmp_path, folders=folders)
        sizes = {find.relative: find.allocated_bytes for find in whole.finds}
        assert {find.relative: find.allocated_bytes for find in part.finds}.items() <= sizes.items()
        if not part.complete and part.stopped_in:
            reached = part.stopped_in.split(b"/")[0]
            assert set(part.unreached) == {name for name in (b"a", b"b", b"c", b"d") if name > reached}

    assert whole.complete
    assert whole.unreached == ()


def test_a_hub_cache_is_one_thing_with_its_blobs_and_links(tmp_path: Path) -> None:
    cache = hub_model(tmp_path / "hub")
    (tmp_path / "model").symlink_to(cache / "snapshots" / "a1b2c3")

    found = search(tmp_path)

    assert [(find.relative, find.layout) for find in found.finds] == [(b"hub/models--org--tiny", Layout.HUB_CACHE)]
    assert found.finds[0].allocated_bytes == disk_usage(cache)
    assert b"hub/models--org--tiny/snapshots/a1b2c3" in {p.target for p in found.pointers if p.relative == b"model"}


def test_a_quarantine_below_is_no_find(tmp_path: Path) -> None:
    dump(tmp_path / "root/.artifactctl/quarantine/op-1/hidden")
    dump(tmp_path / "root/hidden")

    found = search(tmp_path)

    assert names(found.finds) == ["root/hidden"]
    assert found.roots == (b"root",)


def test_a_folder_that_vanishes_meanwhile_is_no_failure(tmp_path: Path) -> None:
    host, place = LocalHost(), os.fsencode(tmp_path)
    for name in ("a", "b"):
        dump(tmp_path / name)

    def walk():  # type: ignore[no-untyped-def]
        for listing in host.walk(place):
            if listing.relative == b"a":
                shutil.rmtree(tmp_path / "b")
            yield listing

    looking = Search(
        (place,),
        lambda relative, offset, length: host.read_range(join(place, relative), offset, length),
        None,
        is_over=lambda: False,
        progress=lambda _: None,
    )
    looking.run(walk())

    assert names(looking.findings().finds) == ["a"]
