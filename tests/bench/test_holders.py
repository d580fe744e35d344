"""Each holder really holds in its way and no other, and really ends: the tool is tested against these."""

import fcntl
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.bench import holders
from tests.bench.holders import HOLDS, Hold, Target, hold_name, prepare
from tests.bench.volumes import Volume

pytestmark = pytest.mark.system

on_files = pytest.mark.parametrize("hold", [hold for hold in HOLDS if hold.target is not Target.FOLDER], ids=hold_name)


@on_files
def test_the_kernel_refuses_a_lease_exactly_while_the_file_is_in_use(hold: Hold, ext4_volume: Volume) -> None:
    path = prepare(hold, ext4_volume.mount)
    assert _lease_is_granted(path)

    with hold.establish(path):
        granted_meanwhile = _lease_is_granted(path)

    assert granted_meanwhile is not hold.refuses_lease
    assert _lease_is_granted(path)


@pytest.mark.parametrize(
    ("establish", "link"),
    [(holders.working_directory, "cwd"), (holders.root_directory, "root")],
    ids=["cwd", "root"],
)
def test_a_folder_is_held_by_the_link_of_its_process(
    establish: Callable[[Path], AbstractContextManager[int]], link: str, tmp_path: Path
) -> None:
    with establish(tmp_path) as pid:
        assert os.path.samefile(f"/proc/{pid}/{link}", tmp_path)
        assert len([name for name in ("cwd", "root") if os.path.samefile(f"/proc/{pid}/{name}", tmp_path)]) == 1

    assert not Path(f"/proc/{pid}").exists()


def test_a_mapping_shows_no_descriptor(ext4_volume: Volume) -> None:
    path = ext4_volume.mount / "mapped"
    path.write_bytes(bytes(8192))

    with holders.mapping(path) as pid:
        descriptors = _descriptors_on(path, Path(f"/proc/{pid}/fd"))
        mappings = Path(f"/proc/{pid}/maps").read_text()

    assert descriptors == 0
    assert str(path) in mappings


def test_a_threads_own_table_is_not_the_processs(ext4_volume: Volume) -> None:
    path = ext4_volume.mount / "opened"
    path.write_bytes(b"x")

    with holders.thread_descriptor(path) as pid:
        tables = [_descriptors_on(path, task / "fd") for task in Path(f"/proc/{pid}/task").iterdir()]
        in_the_process = _descriptors_on(path, Path(f"/proc/{pid}/fd"))

    assert in_the_process == 0
    assert sum(tables) == 1


def test_a_descriptor_in_flight_is_in_no_table(ext4_volume: Volume) -> None:
    path = ext4_volume.mount / "sent"
    path.write_bytes(b"x")

    with holders.descriptor_in_flight(path):
        found = sum(_descriptors_on(path, process / "fd") for process in Path("/proc").glob("[0-9]*"))

    assert found == 0


def test_a_bind_mount_elsewhere_shows_only_in_its_processs_mount_table(ext4_volume: Volume) -> None:
    path = ext4_volume.mount / "bound-file"
    path.write_bytes(b"x")

    with holders.bind_mount_elsewhere(path) as pid:
        theirs = Path(f"/proc/{pid}/mountinfo").read_text()
        ours = Path("/proc/self/mountinfo").read_text()

    assert "/bound-file /mnt/bound " in theirs
    assert "/bound-file" not in ours


def test_a_bind_mount_below_is_a_mount_of_the_same_device(ext4_volume: Volume) -> None:
    source, place = ext4_volume.mount / "source", ext4_volume.mount / "artifact" / "below"
    source.mkdir()
    place.mkdir(parents=True)

    with holders.bind_mount(source, place):
        assert f"{place} " in Path("/proc/self/mountinfo").read_text()
        assert place.stat().st_dev == ext4_volume.mount.stat().st_dev

    assert f"{place} " not in Path("/proc/self/mountinfo").read_text()


def test_a_running_executable_is_the_file_itself(ext4_volume: Volume) -> None:
    path = holders.place_executable(ext4_volume.mount / "program")

    with holders.executable(path) as pid:
        assert os.path.samefile(f"/proc/{pid}/exe", path)


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch], ids=["folder", "file"])
def test_a_shared_lock_keeps_an_exclusive_one_out(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "locked"
    make(path)

    with holders.shared_lock(path) as pid:
        refused_meanwhile = not _exclusive_lock_is_granted(path)
        lock_table = Path("/proc/locks").read_text()

    assert refused_meanwhile
    assert f"FLOCK ADVISORY READ {pid} " in " ".join(lock_table.split())
    assert _exclusive_lock_is_granted(path)


def test_a_swap_file_is_in_the_swap_table_while_it_is_held(ext4_volume: Volume) -> None:
    path = ext4_volume.mount / "swap"
    path.write_bytes(os.urandom(1 << 20))

    with holders.swap_file(path):
        meanwhile = Path("/proc/swaps").read_text()

    assert str(path) in meanwhile
    assert str(path) not in Path("/proc/swaps").read_text()


def test_a_writer_makes_its_file_grow(tmp_path: Path) -> None:
    path = tmp_path / "growing"

    with holders.writing(path):
        while path.stat().st_size <= 2 * 65536:
            pass

    assert path.stat().st_size > 2 * 65536


def test_a_holder_that_cannot_hold_says_why(tmp_path: Path) -> None:
    with pytest.raises(holders.HolderTrouble, match="No such file"), holders.descriptor(tmp_path / "absent"):
        pass


def _lease_is_granted(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _exclusive_lock_is_granted(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _descriptors_on(path: Path, table: Path) -> int:
    wanted = path.stat()
    return sum(os.path.samestat(link.stat(), wanted) for link in table.iterdir() if link.exists())
