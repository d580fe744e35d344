"""The volumes do what their names say: they fill up, run out of inodes, and forget what was not synced."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from tests.bench.fixtures import VolumeFactory
from tests.bench.volumes import (
    MIB,
    FilesystemKind,
    Volume,
    crash_copy,
    cut_power,
    fill_with_bytes,
    fill_with_files,
    missing_programs,
    revived,
)

pytestmark = pytest.mark.system

JOURNALLED = [FilesystemKind.EXT4, FilesystemKind.XFS]


def test_every_program_the_volumes_need_is_installed() -> None:
    assert missing_programs() == ()


def test_a_volume_is_a_filesystem_of_its_own(any_local_volume: Volume) -> None:
    kinds = {
        fields[1]: fields[2] for fields in (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    }

    assert kinds[str(any_local_volume.mount)] == any_local_volume.kind
    assert os.stat(any_local_volume.mount).st_dev != os.stat(any_local_volume.mount.parent).st_dev


def test_a_filled_volume_refuses_another_byte(any_local_volume: Volume) -> None:
    fill_with_bytes(any_local_volume)

    with pytest.raises(OSError, match="No space left") as refusal:
        _write(any_local_volume.mount / "more", sync=True, content=b"x" * 8192)

    assert refusal.value.errno == errno.ENOSPC


def test_a_volume_can_be_filled_up_to_a_remainder(ext4_volume: Volume) -> None:
    fill_with_bytes(ext4_volume, leave_bytes=32 * MIB)

    assert 32 * MIB <= ext4_volume.available_bytes() < 37 * MIB


@pytest.mark.parametrize("kind", [FilesystemKind.EXT4, FilesystemKind.TMPFS])
def test_a_volume_can_run_out_of_inodes_while_bytes_are_free(volumes: VolumeFactory, kind: FilesystemKind) -> None:
    volume = volumes(kind, inodes=64)

    fill_with_files(volume)

    assert os.statvfs(volume.mount).f_favail == 0
    assert volume.available_bytes() > MIB


@pytest.mark.parametrize("kind", JOURNALLED)
def test_a_power_cut_loses_what_was_not_synced_and_keeps_what_was(volumes: VolumeFactory, kind: FilesystemKind) -> None:
    volume = volumes(kind)
    _write(volume.mount / "kept", sync=True)
    _write(volume.mount / "lost", sync=False)

    cut_power(volume)
    volume.remount()

    assert os.listdir(volume.mount).count("kept") == 1
    assert not (volume.mount / "lost").exists() or (volume.mount / "lost").read_bytes() != b"content"


@pytest.mark.parametrize("kind", [*JOURNALLED, FilesystemKind.BTRFS])
def test_a_crash_copy_shows_the_disk_at_its_instant(
    volumes: VolumeFactory, tmp_path: Path, kind: FilesystemKind
) -> None:
    volume = volumes(kind)
    _write(volume.mount / "before", sync=True)
    copy = crash_copy(volume, tmp_path / "crash.image")
    _write(volume.mount / "after", sync=True)

    with revived(volume, copy) as seen:
        names = set(os.listdir(seen.mount))

    assert {"before", "after"} & names == {"before"}
    assert (volume.mount / "after").read_bytes() == b"content"


def test_a_volume_whose_last_user_is_just_ending_is_unmounted_all_the_same(ext4_volume: Volume) -> None:
    with subprocess.Popen(["sleep", "1"], cwd=ext4_volume.mount):
        ext4_volume.remount()

    assert os.path.ismount(ext4_volume.mount)


def _write(path: Path, *, sync: bool, content: bytes = b"content") -> None:
    with path.open("wb", buffering=0) as file:
        file.write(content)
        if sync:
            os.fsync(file.fileno())
    if sync:
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(descriptor)
        os.close(descriptor)
