"""Every way to use a file or folder is found, on every local filesystem, and nothing else is."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from artifactctl.domain.observation import BlindSpotKind, HolderKind, HolderReport
from artifactctl.hosts.local import LocalHost
from tests.bench import holders
from tests.bench.volumes import FilesystemKind, mounted_volume
from tests.system.programs import run

pytestmark = pytest.mark.system


@pytest.fixture(scope="module", params=list(FilesystemKind), ids=str)
def volume(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted_volume(request.param, tmp_path_factory.mktemp("volumes")) as made:
        yield made.mount


@pytest.fixture
def target(volume: Path) -> Iterator[Path]:
    folder = volume / "hs-\udcff set"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "rows.bin").write_bytes(b"r" * 8192)
    (folder / "top.bin").write_bytes(b"t" * 100)
    yield folder
    shutil.rmtree(folder)


def look(target: Path) -> HolderReport:
    return LocalHost().holders(os.fsencode(target))


def found(report: HolderReport) -> set[tuple[HolderKind, bytes, int | None]]:
    return {(holder.kind, holder.path, holder.pid) for holder in report.holders}


def test_nothing_is_found_where_nobody_is(target: Path) -> None:
    report = look(target)

    assert report.holders == ()
    assert (report.lease_candidates, report.leases_granted) == (2, 2)
    assert report.leases_settle_openers
    assert {spot.kind for spot in report.blind_spots} <= {BlindSpotKind.PID_NAMESPACE}


def test_an_open_descriptor_names_its_process(target: Path) -> None:
    with holders.descriptor(target / "inner/rows.bin") as process:
        report = look(target)

    assert found(report) == {(HolderKind.DESCRIPTOR, b"inner/rows.bin", process)}
    assert not report.leases_settle_openers
    assert "descriptor" in report.holders[0].command


def test_a_mapping_outlives_its_descriptor(target: Path) -> None:
    with holders.mapping(target / "inner/rows.bin") as process:
        report = look(target)

    assert found(report) == {(HolderKind.MAPPING, b"inner/rows.bin", process)}
    assert report.leases_granted == 1


def test_a_working_directory_inside_is_found(target: Path) -> None:
    with holders.working_directory(target / "inner") as process:
        assert found(look(target)) == {(HolderKind.WORKING_DIRECTORY, b"inner", process)}


def test_a_root_directory_inside_is_found(target: Path) -> None:
    with holders.root_directory(target / "inner") as process:
        assert found(look(target)) == {(HolderKind.ROOT_DIRECTORY, b"inner", process)}


def test_a_running_executable_is_found(target: Path) -> None:
    shutil.copy(shutil.which("cat") or "/bin/cat", target / "program")

    with subprocess.Popen([str(target / "program")], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        report = look(target)
        assert child.stdin is not None
        child.stdin.close()

    assert (HolderKind.EXECUTABLE, b"program", child.pid) in found(report)
    assert {holder.path for holder in report.holders} == {b"program"}


def test_a_path_descriptor_is_found_though_the_kernel_grants_the_lease(target: Path) -> None:
    with holders.location_descriptor(target / "top.bin") as process:
        report = look(target)

    assert found(report) == {(HolderKind.DESCRIPTOR, b"top.bin", process)}
    assert report.leases_granted == 2


def test_a_thread_with_its_own_descriptor_table_is_found(target: Path) -> None:
    with holders.thread_descriptor(target / "top.bin") as process:
        assert found(look(target)) == {(HolderKind.DESCRIPTOR, b"top.bin", process)}


def test_a_reader_through_a_hard_link_elsewhere_is_found(target: Path, volume: Path) -> None:
    os.link(target / "top.bin", volume / "alias")

    with holders.descriptor(volume / "alias") as process:
        report = look(target)
    (volume / "alias").unlink()

    assert found(report) == {(HolderKind.DESCRIPTOR, b"top.bin", process)}


def test_a_descriptor_in_flight_is_known_to_the_kernel_alone(target: Path) -> None:
    with holders.descriptor_in_flight(target / "top.bin"):
        report = look(target)

    assert found(report) == {(HolderKind.KERNEL_LEASE, b"top.bin", None)}


@pytest.mark.parametrize("member", ["inner", "inner/rows.bin"])
def test_a_bind_mount_in_another_mount_namespace_is_found(target: Path, tmp_path: Path, member: str) -> None:
    place = tmp_path / "place"
    if (target / member).is_dir():
        place.mkdir()
    else:
        place.touch()
    script = 'mount --bind "$1" "$2" && echo held && read line'

    words = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", str(target / member), str(place)]
    with holders.process(words) as process:
        report = look(target)

    assert found(report) == {(HolderKind.MOUNT, os.fsencode(member), process)}
    assert str(place) in report.holders[0].detail


def test_a_container_that_binds_the_whole_volume_is_no_holder(target: Path, volume: Path, tmp_path: Path) -> None:
    script = 'mount --bind "$1" "$2" && echo held && read line'

    with holders.process(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", str(volume), str(tmp_path)]
    ):
        assert look(target).holders == ()


def test_something_mounted_on_a_folder_inside_in_another_namespace_is_found(target: Path) -> None:
    script = 'mount -t tmpfs over "$1" && echo held && read line'

    words = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", str(target / "inner")]
    with holders.process(words) as process:
        assert found(look(target)) == {(HolderKind.MOUNT, b"inner", process)}


def test_an_overlay_that_uses_a_folder_as_its_layer_is_found(target: Path, tmp_path: Path) -> None:
    run("mount", "-t", "overlay", "over", "-o", f"ro,lowerdir={target / 'inner'}:{tmp_path}", tmp_path)
    try:
        kinds = {(holder.kind, holder.path) for holder in look(target).holders}
    finally:
        run("umount", tmp_path)

    assert (HolderKind.MOUNT, b"inner") in kinds


def test_the_image_of_a_loop_device_is_found(target: Path) -> None:
    os.truncate(target / "inner/rows.bin", 1024 * 1024)
    device = run("losetup", "--find", "--show", target / "inner/rows.bin")
    try:
        report = look(target)
    finally:
        run("losetup", "-d", device)

    assert found(report) == {(HolderKind.LOOP_DEVICE, b"inner/rows.bin", None)}
    assert report.holders[0].detail == device


def test_a_swap_file_is_found(target: Path, volume: Path) -> None:
    swap = target / "swap"
    swap.touch(mode=0o600)
    if run("stat", "-f", "-c", "%T", volume) in ("btrfs", "tmpfs"):
        pytest.skip("no swap files on btrfs without nocow, nor on tmpfs")
    with swap.open("wb") as file:
        file.write(bytes(4 * 1024 * 1024))
        os.fsync(file.fileno())
    run("mkswap", swap)
    run("swapon", swap)
    try:
        report = look(target)
    finally:
        run("swapoff", swap)

    assert found(report) == {(HolderKind.SWAP, b"swap", None)}


@pytest.mark.parametrize("member", ["", "inner", "top.bin"])
@pytest.mark.parametrize("mode", ["-s", "-x"])
def test_a_flock_counts_as_a_use(target: Path, member: str, mode: str) -> None:
    command = ["flock", mode, str(target / member), "sh", "-c", "echo held; read line"]

    with holders.process(command) as process:
        report = look(target)

    assert (HolderKind.FLOCK, os.fsencode(member), process) in found(report)


def test_a_flock_on_a_file_beside_the_target_counts_for_the_target(target: Path) -> None:
    beside = target.with_name(target.name + ".lock")

    with holders.process(["flock", "-s", str(beside), "sh", "-c", "echo held; read line"]) as process:
        report = look(target)
    beside.unlink()

    assert found(report) == {(HolderKind.FLOCK, b"", process)}


def test_a_single_file_is_looked_at_like_a_tree(target: Path) -> None:
    with holders.descriptor(target / "top.bin") as process:
        assert found(look(target / "top.bin")) == {(HolderKind.DESCRIPTOR, b"", process)}
    report = look(target / "top.bin")

    assert report.holders == ()
    assert (report.lease_candidates, report.leases_granted) == (1, 1)


def test_our_own_descriptors_do_not_count_but_the_kernel_still_refuses_the_lease(target: Path) -> None:
    descriptor = os.open(target / "inner", os.O_RDONLY)
    try:
        report = look(target)
    finally:
        os.close(descriptor)

    assert report.holders == ()


def test_a_look_leaves_access_times_and_content_alone(target: Path) -> None:
    before = [os.stat(path) for path in (target, target / "inner", target / "inner/rows.bin")]

    look(target)

    after = [os.stat(path) for path in (target, target / "inner", target / "inner/rows.bin")]
    assert [(seen.st_atime_ns, seen.st_ctime_ns) for seen in before] == [
        (seen.st_atime_ns, seen.st_ctime_ns) for seen in after
    ]


def test_an_opener_that_arrives_during_a_lease_neither_fails_nor_kills_the_looker(target: Path) -> None:
    opener = """
import sys, threading
def read():
    while True:
        open(sys.argv[1], 'rb').close()
threading.Thread(target=read, daemon=True).start()
print('held', flush=True)
sys.stdin.read()
"""
    with holders.process([sys.executable, "-c", opener, target / "top.bin"]):
        reports = [look(target) for _ in range(30)]

    assert all(report.processes_inspected for report in reports)
