"""Who writes how fast, and when it is full."""

from datetime import timedelta

from artifactctl.domain.activity import GrowingFile, VolumeActivity, Writer
from artifactctl.rescue.rates import filling_of, writers_of
from tests.rescue.values import NOW


def activity(*writers: Writer, lost_bytes: int = 0, denied: int = 0) -> VolumeActivity:
    return VolumeActivity(
        seconds=2.0,
        available_before_bytes=10_000,
        available_after_bytes=10_000 - lost_bytes,
        processes_denied=denied,
        writers=writers,
    )


def writer(pid: int, *, grown: int = 0, written: int = 0, was_open: bool = True, here: bool = True) -> Writer:
    file = GrowingFile(path=b"/d/f", size_bytes=grown, grown_bytes=grown, was_open_before=was_open)
    return Writer(pid=pid, command="w", written_bytes=written, writes_here=here, files=(file,) if here else ())


def test_a_file_that_grows_tells_the_rate_whatever_else_the_process_writes() -> None:
    (seen,) = writers_of(activity(writer(7, grown=1000, written=90_000), lost_bytes=1000))

    assert (seen.pid, seen.bytes_per_second, seen.path) == (7, 500.0, b"/d/f")


def test_a_writer_that_moves_from_file_to_file_counts_with_all_it_wrote() -> None:
    (seen,) = writers_of(activity(writer(7, grown=100, written=3000, was_open=False), lost_bytes=3000))

    assert seen.bytes_per_second == 1500.0


def test_a_writer_of_short_lived_files_is_named_where_it_explains_the_loss() -> None:
    seen = writers_of(
        activity(writer(7, written=2000, here=False), writer(8, written=90_000, here=False), lost_bytes=2000)
    )

    assert [(w.pid, w.is_certain) for w in seen] == [(7, False)]


def test_the_kernel_flushing_is_no_writer() -> None:
    flusher = Writer(pid=9, command="kworker/u8:1-writeback", written_bytes=2000, writes_here=False)

    assert writers_of(activity(flusher, lost_bytes=2000)) == ()


def test_an_idle_process_with_an_open_file_is_no_writer() -> None:
    assert writers_of(activity(writer(7))) == ()


def fill(sample: VolumeActivity, filesystem_type: str = "ext4"):  # type: ignore[no-untyped-def]
    return filling_of(sample, writers_of(sample), filesystem_type=filesystem_type, available_bytes=5000, now=NOW)


def test_it_is_full_when_the_writers_have_used_up_what_is_left() -> None:
    filling = fill(activity(writer(7, grown=1000), lost_bytes=1000))

    assert filling.bytes_per_second == 500.0
    assert filling.full_at == NOW + timedelta(seconds=10)


def test_an_unseen_writer_fills_the_disk_as_well() -> None:
    filling = fill(activity(writer(7, grown=1000), lost_bytes=4000, denied=3))

    assert (filling.bytes_per_second, filling.is_from_volume) == (2000.0, True)


def test_space_that_xfs_allocates_ahead_is_not_taken_for_growth() -> None:
    filling = fill(activity(writer(7, grown=1000), lost_bytes=400_000), "xfs")

    assert filling.bytes_per_second == 500.0


def test_a_disk_that_gains_space_is_never_full() -> None:
    filling = fill(activity(lost_bytes=-400))

    assert (filling.bytes_per_second, filling.full_at) == (0.0, None)
