"""What several looks at a folder say about whoever writes there."""

from datetime import UTC, datetime, timedelta

import pytest

from artifactctl.inventory.tree_growth import Growth, TreeSize, judge_growth

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MIB = 2**20


def looks(*sizes: tuple[int, int], files: tuple[tuple[datetime, int], ...] = ()) -> list[tuple[datetime, TreeSize]]:
    """Return looks one second apart from (appended, filled) MiB."""
    return [
        (
            NOON + number * SECOND,
            TreeSize(appended_bytes=appended * MIB, filled_bytes=filled * MIB, files=files, problems=()),
        )
        for number, (appended, filled) in enumerate(sizes)
    ]


def finished(*minutes_ago: int) -> tuple[tuple[datetime, int], ...]:
    """Return files of 60 MiB that were finished so many minutes before noon."""
    return tuple((NOON - timedelta(minutes=ago), 60 * MIB) for ago in minutes_ago)


def test_a_file_that_is_appended_to_counts_by_its_size_though_allocation_lags() -> None:
    growth = judge_growth(looks((10, 0), (20, 0), (30, 30), (40, 30)))

    assert growth == Growth(written_bytes=40 * MIB, bytes_per_second=10 * MIB)


def test_a_file_that_was_made_large_and_is_filled_counts_by_what_is_allocated() -> None:
    growth = judge_growth(looks((900, 5), (900, 10), (900, 15)))

    assert growth == Growth(written_bytes=15 * MIB, bytes_per_second=5 * MIB)


def test_a_writer_of_whole_shards_counts_by_its_finished_files() -> None:
    growth = judge_growth(looks((240, 240), (240, 240), files=finished(9, 6, 3, 0)))

    assert growth.bytes_per_second == pytest.approx(3 * 60 * MIB / (9 * 60))
    assert growth.from_history


def test_a_job_that_ended_long_ago_has_no_rate() -> None:
    growth = judge_growth(looks((240, 240), (240, 240), files=finished(90, 87, 84, 81)))

    assert growth == Growth(written_bytes=240 * MIB, bytes_per_second=None)


def test_a_folder_in_which_nothing_happens_has_no_rate() -> None:
    assert judge_growth(looks((0, 0), (0, 0))) == Growth(written_bytes=0, bytes_per_second=None)
