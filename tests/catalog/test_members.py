"""Members: any order in, one order out, whole lists or none, a million of them in short transactions."""

import sqlite3
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from artifactctl.catalog import StateChanged, UnknownObject
from artifactctl.catalog.member_queries import SHARDS
from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.identity import member_order
from tests.bench.databases import ON_SQLITE

names = st.binary(min_size=1, max_size=3).filter(lambda name: b"/" not in name and b"\0" not in name)
paths = st.lists(names, min_size=1, max_size=4).map(b"/".join)


def without_folders_that_are_files(found: list[bytes]) -> list[bytes]:
    folders = {
        path[:position] for path in found for position in range(len(path)) if path[position : position + 1] == b"/"
    }
    return [path for path in found if path not in folders]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(found=st.lists(paths, unique=True, max_size=30).map(without_folders_that_are_files))
def test_members_come_back_in_member_order_whatever_the_order_they_came_in(catalog, noon, found):
    with catalog.writing("ada", noon) as writing:
        artifact = writing.artifact("a") or writing.add_artifact("a", ArtifactKind.OTHER)
        writing.set_members(artifact.artifact_id, [(path, "f", size, None) for size, path in enumerate(found)])

        listed = list(writing.members(artifact.artifact_id))

    expected = sorted(((path, "f", size) for size, path in enumerate(found)), key=lambda row: member_order(row[0]))
    assert listed == expected


def test_pages_join_without_a_gap(place, write):
    artifact = place("a").artifact_id
    flat = [(b"%05d" % number, "f", number, number) for number in range(9_000)]
    with write() as writing:
        writing.set_members(artifact, [*reversed(flat), (b"04096x/in", "l", 1, None)])

        listed = list(writing.members(artifact))

    expected = [(name, "f", size) for name, _, size, _ in flat]
    expected.insert(4_097, (b"04096x/in", "l", 1))
    assert listed == expected


def test_types_of_members_are_kept(place, write):
    artifact = place("a").artifact_id
    with write() as writing:
        writing.set_members(artifact, [(b"", "f", 5, None)])
        single = list(writing.members(artifact))
        writing.set_members(artifact, [(b"s", "o", 0, None), (b"l", "l", 3, None), (b"f", "f", 2**42, 9)])
        several = list(writing.members(artifact))

    assert single == [(b"", "f", 5)]
    assert several == [(b"f", "f", 2**42), (b"l", "l", 3), (b"s", "o", 0)]


def test_an_artifact_that_was_never_listed_is_not_an_empty_one(place, write):
    artifact = place("a").artifact_id
    with write() as writing:
        never = writing.member_count(artifact)
        writing.set_members(artifact, [])

        assert (never, writing.member_count(artifact)) == (None, 0)
        with pytest.raises(UnknownObject):
            writing.set_members(99, [])


def test_a_member_listed_twice_is_an_error(place, write):
    artifact = place("a").artifact_id

    with write() as writing, pytest.raises(ValueError, match="twice"):
        writing.set_members(artifact, [(b"x/y", "f", 1, None), (b"x/y", "f", 2, None)])


def test_a_new_list_replaces_the_old_one_without_a_trace(place, write):
    artifact = place("a").artifact_id
    with write() as writing:
        writing.set_members(artifact, [(b"x/y", "f", 1, None)])
        writing.set_members(artifact, [(b"x/z", "f", 2, None)])

        assert list(writing.members(artifact)) == [(b"x/z", "f", 2)]
        assert writing.connection.execute(text("SELECT count(*) FROM shard")).scalar_one() == 1


def test_a_list_made_beforehand_appears_at_once_when_it_is_adopted(place, catalog, noon):
    artifact = place("a").artifact_id
    list_id = catalog.list_members(((b"d/%06d" % number, "f", 1, 2) for number in range(25_000)), now=noon)
    with catalog.reading() as reading:
        before = reading.member_count(artifact)

    with catalog.writing("ada", noon) as writing:
        writing.adopt_members(artifact, list_id)
        after = sum(1 for _ in writing.members(artifact))

    assert (before, after) == (None, 25_000)


def test_while_a_list_is_made_others_can_write(place, catalog, noon):
    artifact = place("a").artifact_id
    written = []

    def listing():
        for number in range(25_000):
            if number == 15_000:
                with catalog.writing("bob", noon) as writing:
                    writing.add_measurement(artifact, "accept_len", 2.0)
                    written.append(number)
            yield b"%06d" % number, "f", 1, None

    catalog.list_members(listing(), now=noon)

    assert written == [15_000]


def test_an_interrupted_list_cannot_be_adopted_and_is_cleared_a_day_later(place, catalog, noon):
    artifact = place("a").artifact_id
    kept = catalog.list_members([(b"keep", "f", 1, None)], now=noon)
    with catalog.writing("ada", noon) as writing:
        writing.adopt_members(artifact, kept)

    def broken():
        for number in range(24_000):
            yield b"%06d" % number, "f", 1, None
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        catalog.list_members(broken(), now=noon)
    with catalog.writing("ada", noon) as writing, pytest.raises(StateChanged):
        writing.adopt_members(artifact, kept + 1)

    unused = catalog.list_members([(b"x", "f", 1, None)], now=noon + timedelta(hours=1))
    rows_before = _count(catalog)
    catalog.list_members([], now=noon + timedelta(days=1, hours=1))
    rows_after = _count(catalog)

    with catalog.writing("ada", noon) as writing:
        assert list(writing.members(artifact)) == [(b"keep", "f", 1)]
        writing.adopt_members(artifact, unused)
    assert (rows_before, rows_after) == (20_002, 2)


def test_a_shard_is_found_by_its_name_and_by_the_end_of_its_path(place, write):
    first, second = place("a").artifact_id, place("b").artifact_id
    with write() as writing:
        writing.set_members(first, [(b"rows_0/data_1.ckpt", "f", 10, 7), (b"rows_1/data_1.ckpt", "f", 11, None)])
        writing.set_members(second, [(b"data_1.ckpt", "f", 12, None), (b"caf\xe9", "f", 1, None)])

        everywhere = writing.find_shards("data_1.ckpt")
        by_path = writing.find_shards("rows_1/data_1.ckpt")
        limited = writing.find_shards(b"data_1.ckpt", limit=1)
        strange = writing.find_shards("caf\udce9")

    assert [(item.artifact_name, item.relative, item.size_bytes, item.tokens) for item in everywhere] == [
        ("a", b"rows_0/data_1.ckpt", 10, 7),
        ("a", b"rows_1/data_1.ckpt", 11, None),
        ("b", b"data_1.ckpt", 12, None),
    ]
    assert [item.size_bytes for item in by_path] == [11]
    assert len(limited) == 1
    assert [item.relative for item in strange] == [b"caf\xe9"]


@ON_SQLITE
def test_finding_a_shard_asks_every_folder_by_its_key(catalog):
    with catalog.reading() as reading:
        compiled = SHARDS.compile(dialect=reading.connection.dialect)
        plan = reading.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", (b"data_1.ckpt",)).all()

    assert "SEARCH shard USING PRIMARY KEY (directory_id=? AND name=?)" in [step for *_, step in plan]


def test_digests_are_recorded_for_members_only(place, write):
    artifact = place("a").artifact_id
    with write() as writing:
        nothing = writing.set_digests(artifact, [(b"x", b"\1" * 32)])
        writing.set_members(artifact, [(b"d/x", "f", 1, None), (b"y", "f", 1, None)])
        some = writing.set_digests(artifact, [(b"d/x", b"\1" * 32), (b"d/other", b"\2" * 32), (b"no/x", b"\3" * 32)])

        assert (nothing, some) == (0, 1)
        assert list(writing.digests(artifact)) == [(b"d/x", b"\1" * 32), (b"y", None)]


@ON_SQLITE
def test_fifty_thousand_shards_take_less_than_96_bytes_each(place, catalog, location, noon):
    artifact = place("a").artifact_id
    paths = [b"rows_%04d/hidden_states_data_%012d.safetensors" % (number // 500, number) for number in range(50_000)]
    pages_before = _used_bytes(location)

    list_id = catalog.list_members(((path, "f", 2**31 + 5, 1_000) for path in paths), now=noon)
    with catalog.writing("ada", noon) as writing:
        writing.adopt_members(artifact, list_id)
    bare = (_used_bytes(location) - pages_before) / len(paths)

    with catalog.writing("ada", noon) as writing:
        writing.set_digests(artifact, ((path, b"\1" * 16) for path in paths))
    with_digests = (_used_bytes(location) - pages_before) / len(paths)

    assert bare < 72
    assert with_digests < 96


def _count(catalog):
    with catalog.reading() as reading:
        return reading.connection.execute(text("SELECT count(*) FROM shard")).scalar_one()


def _used_bytes(location):
    connection = sqlite3.connect(f"file:{location}?mode=ro", uri=True)
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    connection.close()
    return (pages - free) * size
