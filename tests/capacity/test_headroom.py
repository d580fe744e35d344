"""What may still be claimed on a volume, and which limit says so."""

import pytest
from capacity_volumes import GIB, TIB, reservation, volume, volume_of_the_story

from artifactctl.capacity import DEFAULT_RESERVE, NO_RESERVE, measure_headroom
from artifactctl.capacity.headroom import Bound
from artifactctl.domain.observation import Limit


def binding(usage, *, peak_bytes=GIB, files=1, **kwargs):
    return measure_headroom(usage, reserve=NO_RESERVE, **kwargs).binding(peak_bytes=peak_bytes, files=files)


def test_the_volume_of_the_story_has_eleven_tib():
    headroom_bytes, limited_by = binding(volume_of_the_story())

    assert headroom_bytes / TIB == pytest.approx(11.0, abs=0.01)
    assert limited_by == "filesystem"


def test_the_reserve_is_kept_back_and_capped():
    headroom = measure_headroom(volume_of_the_story())

    assert headroom.reserve_bytes == DEFAULT_RESERVE.at_most_bytes == 64 * GIB
    assert headroom.binding(peak_bytes=1, files=1)[0] == 12 * TIB - 1021 * GIB - 64 * GIB


def test_a_small_volume_keeps_back_one_percent():
    assert measure_headroom(volume(size_bytes=100 * GIB, available_bytes=50 * GIB)).reserve_bytes == GIB


def test_only_the_unfilled_part_of_a_promise_counts():
    promised = reservation(reserved_bytes=100 * GIB, filled_bytes=40 * GIB)

    assert binding(volume(available_bytes=TIB), reservations=[promised])[0] == TIB - 60 * GIB


def test_an_overfilled_promise_gives_nothing_back():
    promised = reservation(reserved_bytes=GIB, filled_bytes=5 * GIB)

    assert binding(volume(available_bytes=TIB), reservations=[promised])[0] == TIB


@pytest.mark.parametrize(
    "promise",
    [
        reservation(reserved_bytes=GIB, uuid="another"),
        reservation(reserved_bytes=GIB, name="mine"),
    ],
    ids=["on another filesystem", "one's own"],
)
def test_promises_that_do_not_count(promise):
    assert binding(volume(available_bytes=TIB), reservations=[promise], own_reservation_id="mine")[0] == TIB


def test_promises_beyond_what_is_there_make_the_headroom_negative():
    assert binding(volume(available_bytes=GIB), reservations=[reservation(reserved_bytes=3 * GIB)])[0] == -2 * GIB


@pytest.mark.parametrize(
    ("limits", "inodes", "expected"),
    [
        ((), 10**9, (TIB, "filesystem")),
        ((Limit(name="user quota", available_bytes=500 * GIB),), 10**9, (500 * GIB, "user quota")),
        (
            (Limit(name="thin pool", available_bytes=300 * GIB), Limit(name="user quota", available_bytes=500 * GIB)),
            10**9,
            (300 * GIB, "thin pool"),
        ),
        ((Limit(name="user quota", available_bytes=2 * TIB),), 10**9, (TIB, "filesystem")),
        (
            (Limit(name="project quota", available_bytes=None, available_inodes=100),),
            10**9,
            (100 * GIB, "project quota inodes"),
        ),
        ((), 50, (50 * GIB, "inodes")),
    ],
    ids=["blocks", "a quota", "the tighter of two", "a wide quota", "files of a quota", "inodes"],
)
def test_the_tightest_limit_binds_and_is_named(limits, inodes, expected):
    usage = volume(available_bytes=TIB, available_inodes=inodes, limits=limits)

    assert binding(usage, peak_bytes=1000 * GIB, files=1000) == expected


def test_a_filesystem_without_an_inode_limit_is_not_full_of_inodes():
    usage = volume(available_bytes=TIB, total_inodes=0, available_inodes=0)

    assert binding(usage, peak_bytes=GIB, files=10**6) == (TIB, "filesystem")


def test_a_read_only_filesystem_has_no_room():
    assert binding(volume(available_bytes=TIB, read_only=True)) == (0, "read-only")


def test_equal_limits_name_the_filesystem():
    usage = volume(available_bytes=TIB, limits=(Limit(name="user quota", available_bytes=TIB),))

    assert binding(usage)[1] == "filesystem"


def test_empty_files_still_need_inodes():
    bound = Bound(name="inodes", available_inodes=1)

    assert bound.in_bytes(peak_bytes=0, files=2) == -1
    assert bound.shortfall(peak_bytes=0, files=2) == 1


def test_a_volume_is_full_later_than_its_headroom_ends():
    headroom = measure_headroom(volume(available_bytes=TIB), reservations=[reservation(reserved_bytes=GIB)])

    assert headroom.bytes_until_full(peak_bytes=1, files=1) == TIB
