"""Space, limits and names of real filesystems."""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from artifactctl.domain.errors import HostFailure
from artifactctl.domain.observation import BlindSpotKind
from artifactctl.hosts.local import LocalHost
from tests.bench.fixtures import VolumeFactory
from tests.bench.holders import bind_mount
from tests.bench.volumes import MIB, FilesystemKind, Volume, mounted_volume
from tests.system.programs import run

pytestmark = pytest.mark.system

NEVER_ANSWERING = """
import ctypes, os, sys
fuse = os.open('/dev/fuse', os.O_RDWR)
data = f'fd={fuse},rootmode=40000,user_id=0,group_id=0'.encode()
assert ctypes.CDLL(None).mount(b'silent', sys.argv[1].encode(), b'fuse.silent', 0, data) == 0
print('ready', flush=True)
sys.stdin.read()
"""


@contextmanager
def silent_mount(place: Path) -> Iterator[None]:
    """Mount a filesystem whose server never answers: every statvfs of it sleeps."""
    if not os.path.exists("/dev/fuse"):
        pytest.skip("no FUSE in this kernel")
    words = [sys.executable, "-c", NEVER_ANSWERING, str(place)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            server.kill()
            server.wait()
            ctypes.CDLL(None).umount2(os.fsencode(place), 2)


def test_space_is_what_df_says(any_local_volume: Volume) -> None:
    volume, kind = any_local_volume.mount, any_local_volume.kind
    (volume / "file").write_bytes(b"x" * 5_000_000)
    os.sync()
    usage = LocalHost().usage(os.fsencode(volume / "file"))
    columns = run("df", "-B1", "--output=size,used,avail,itotal,iavail", volume).splitlines()[1].split()

    said = [0 if column == "-" else int(column) for column in columns]
    assert [usage.size_bytes, usage.used_bytes, usage.available_bytes] == said[:3]
    assert [usage.total_inodes, usage.available_inodes] == said[3:]
    assert (usage.mount, usage.filesystem_type) == (os.fsencode(volume), kind)
    assert not usage.read_only
    assert not usage.is_network


@pytest.mark.parametrize("kind", [FilesystemKind.EXT4, FilesystemKind.XFS, FilesystemKind.BTRFS])
def test_the_name_of_a_filesystem_is_its_uuid_for_root_and_for_anybody(
    kind: FilesystemKind, volumes: VolumeFactory
) -> None:
    volume = volumes(kind).mount
    device = run("findmnt", "-n", "-o", "SOURCE", volume)
    named = LocalHost().usage(os.fsencode(volume)).filesystem_uuid
    os.chmod(volume, 0o755)
    code = (
        "import os,sys;from artifactctl.hosts.probe import filesystems;"
        "print(filesystems.identify(os.open(sys.argv[1],0),None))"
    )
    said = run("setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-c", code, volume)

    assert named == run("blkid", "-p", "-o", "value", "-s", "UUID", device) == said


def test_two_tmpfs_have_different_names(volumes: VolumeFactory) -> None:
    made = [volumes(FilesystemKind.TMPFS).mount for _ in range(2)]

    names = {LocalHost().usage(os.fsencode(volume)).filesystem_uuid for volume in made}

    assert len(names) == 2


def test_a_filesystem_that_stopped_after_an_error_is_read_only(volumes: VolumeFactory) -> None:
    volume = volumes(FilesystemKind.EXT4, mount_options="errors=remount-ro").mount
    device = run("findmnt", "-n", "-o", "SOURCE", volume).removeprefix("/dev/")
    knob = Path(f"/sys/fs/ext4/{device}/trigger_fs_error")
    if not knob.exists():
        pytest.skip("kernel without CONFIG_EXT4_DEBUG")
    knob.write_text("1")

    assert LocalHost().usage(os.fsencode(volume)).read_only


def test_a_btrfs_quota_group_is_a_limit(btrfs_volume: Volume) -> None:
    volume = btrfs_volume.mount
    run("btrfs", "quota", "enable", volume)
    run("btrfs", "subvolume", "create", volume / "mine")
    run("btrfs", "qgroup", "limit", "10M", volume / "mine")
    inside = LocalHost().usage(os.fsencode(volume / "mine"))
    outside = LocalHost().usage(os.fsencode(volume))

    limits = {limit.name.split()[-1]: limit.available_bytes for limit in inside.limits if "qgroup" in limit.name}
    assert limits.keys() == {"referenced"}
    assert 10 * 2**20 - 65536 < (limits["referenced"] or 0) <= 10 * 2**20
    assert not [limit for limit in outside.limits if "qgroup" in limit.name]


def test_a_sparse_image_on_a_smaller_filesystem_is_a_limit(tmpfs_volume: Volume, tmp_path: Path) -> None:
    images, options = tmpfs_volume.mount, ("-O", "^has_journal")
    with mounted_volume(
        FilesystemKind.EXT4, tmp_path, images=images, size_bytes=500 * MIB, make_options=options
    ) as large:
        usage = LocalHost().usage(os.fsencode(large.mount))

    (backing,) = [limit for limit in usage.limits if limit.name == "backing file"]
    assert backing.available_bytes is not None
    assert backing.available_bytes < 64 * 2**20 < usage.available_bytes
    assert usage.thin_or_sparse


def test_inodes_are_a_limit_where_there_are_any(volumes: VolumeFactory) -> None:
    usage = LocalHost().usage(os.fsencode(volumes(FilesystemKind.TMPFS, inodes=20).mount))

    assert [limit.available_inodes for limit in usage.limits if limit.name == "inodes"] == [usage.available_inodes]
    assert usage.total_inodes == 20


@pytest.mark.parametrize("kind", [FilesystemKind.XFS, FilesystemKind.BTRFS])
def test_settle_waits_for_blocks_that_come_back_late(kind: FilesystemKind, volumes: VolumeFactory) -> None:
    volume = volumes(kind).mount
    (volume / "big").write_bytes(b"x" * 40_000_000)
    os.sync()
    before = LocalHost().usage(os.fsencode(volume)).available_bytes
    (volume / "big").unlink()

    wanted = before + 39_000_000
    after = LocalHost().settle(os.fsencode(volume), target_available_bytes=wanted, deadline_seconds=5)

    assert after.available_bytes >= wanted


def test_settle_gives_up_at_its_deadline(tmpfs_volume: Volume) -> None:
    started = time.monotonic()
    usage = LocalHost().settle(os.fsencode(tmpfs_volume.mount), target_available_bytes=2**50, deadline_seconds=0.3)

    assert 0.3 <= time.monotonic() - started < 2
    assert usage.available_bytes < 2**50


def test_a_mount_that_does_not_answer_stops_nobody(tmpfs_volume: Volume, tmp_path: Path) -> None:
    place = tmp_path / "silent"
    place.mkdir()
    (tmp_path / "file").touch()

    with silent_mount(place):
        started = time.monotonic()
        known = {usage.mount for usage in LocalHost().mounts()}
        with pytest.raises(HostFailure, match="does not answer"):
            LocalHost().usage(os.fsencode(place))
        report = LocalHost().holders(os.fsencode(tmp_path / "file"))
        elapsed = time.monotonic() - started

    assert os.fsencode(tmpfs_volume.mount) in known
    assert os.fsencode(place) not in known
    assert elapsed < 15
    assert report.holders == ()


def test_the_look_at_a_fuse_filesystem_says_what_it_cannot_know(tmp_path: Path) -> None:
    from artifactctl.hosts.probe import blindness, mounts

    place = tmp_path / "silent"
    place.mkdir()
    with silent_mount(place):
        table = mounts.read()
        (mount,) = [mount for mount in table if mount.point == os.fsencode(place)]

    assert [spot["kind"] for spot in blindness.of_filesystem(mount, table)] == [BlindSpotKind.NETWORK_FILESYSTEM]


def test_mounts_lists_a_filesystem_once_however_often_it_is_bound(tmpfs_volume: Volume, tmp_path: Path) -> None:
    (tmpfs_volume.mount / "inner").mkdir()
    with bind_mount(tmpfs_volume.mount / "inner", tmp_path):
        known = [usage.mount for usage in LocalHost().mounts()]

    assert [mount for mount in known if mount.startswith(os.fsencode(tmpfs_volume.mount))]
    assert os.fsencode(tmp_path) not in known
    assert not {b"/proc", b"/sys", b"/dev/pts", b"/run"} & set(known)
