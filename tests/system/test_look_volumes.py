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
from artifactctl.hosts.local_look import LocalLook
from tests.system.look_volumes import KINDS, mounted, needs_namespace, open_place, run

pytestmark = pytest.mark.system

NEVER_ANSWERING = """
import ctypes, os, sys
fuse = os.open('/dev/fuse', os.O_RDWR)
data = f'fd={fuse},rootmode=40000,user_id=0,group_id=0'.encode()
assert ctypes.CDLL(None).mount(b'silent', sys.argv[1].encode(), b'fuse.silent', 0, data) == 0
print('ready', flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _namespace() -> None:
    needs_namespace()


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


@pytest.mark.parametrize("kind", KINDS)
def test_space_is_what_df_says(kind: str, tmp_path: Path) -> None:
    with mounted(kind, tmp_path) as volume:
        (volume / "file").write_bytes(b"x" * 5_000_000)
        os.sync()
        usage = LocalLook().usage(os.fsencode(volume / "file"))
        columns = run("df", "-B1", "--output=size,used,avail,itotal,iavail", volume).splitlines()[1].split()

    said = [0 if column == "-" else int(column) for column in columns]
    assert [usage.size_bytes, usage.used_bytes, usage.available_bytes] == said[:3]
    assert [usage.total_inodes, usage.available_inodes] == said[3:]
    assert (usage.mount, usage.filesystem_type) == (os.fsencode(volume), kind)
    assert not usage.read_only
    assert not usage.is_network


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_the_name_of_a_filesystem_is_its_uuid_for_root_and_for_anybody(kind: str) -> None:
    with open_place() as place, mounted(kind, place) as volume:
        device = run("findmnt", "-n", "-o", "SOURCE", volume)
        named = LocalLook().usage(os.fsencode(volume)).filesystem_uuid
        os.chmod(volume, 0o755)
        code = (
            "import os,sys;from artifactctl.hosts.probe import filesystems;"
            "print(filesystems.identify(os.open(sys.argv[1],0),None))"
        )
        words = ["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-c", code, str(volume)]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

        assert named == run("blkid", "-p", "-o", "value", "-s", "UUID", device) == said


def test_two_tmpfs_have_different_names(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    with mounted("tmpfs", tmp_path) as one, mounted("tmpfs", tmp_path / "other") as other:
        names = {LocalLook().usage(os.fsencode(volume)).filesystem_uuid for volume in (one, other)}

    assert len(names) == 2


def test_a_filesystem_that_stopped_after_an_error_is_read_only(tmp_path: Path) -> None:
    with mounted("ext4", tmp_path, options=",errors=remount-ro") as volume:
        device = run("findmnt", "-n", "-o", "SOURCE", volume).removeprefix("/dev/")
        knob = Path(f"/sys/fs/ext4/{device}/trigger_fs_error")
        if not knob.exists():
            pytest.skip("kernel without CONFIG_EXT4_DEBUG")
        knob.write_text("1")

        assert LocalLook().usage(os.fsencode(volume)).read_only


def test_a_btrfs_quota_group_is_a_limit(tmp_path: Path) -> None:
    with mounted("btrfs", tmp_path) as volume:
        run("btrfs", "quota", "enable", volume)
        run("btrfs", "subvolume", "create", volume / "mine")
        run("btrfs", "qgroup", "limit", "10M", volume / "mine")
        inside = LocalLook().usage(os.fsencode(volume / "mine"))
        outside = LocalLook().usage(os.fsencode(volume))

    limits = {limit.name.split()[-1]: limit.available_bytes for limit in inside.limits if "qgroup" in limit.name}
    assert limits.keys() == {"referenced"}
    assert 10 * 2**20 - 65536 < (limits["referenced"] or 0) <= 10 * 2**20
    assert not [limit for limit in outside.limits if "qgroup" in limit.name]


def test_a_sparse_image_on_a_smaller_filesystem_is_a_limit(tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path) as small:
        image = small / "image"
        run("truncate", "-s", "500M", image)
        run("mkfs.ext4", "-qF", "-O", "^has_journal", image)
        (tmp_path / "large").mkdir()
        run("mount", "-o", "loop", image, tmp_path / "large")
        try:
            usage = LocalLook().usage(os.fsencode(tmp_path / "large"))
        finally:
            run("umount", tmp_path / "large")

    (backing,) = [limit for limit in usage.limits if limit.name == "backing file"]
    assert backing.available_bytes is not None
    assert backing.available_bytes < 64 * 2**20 < usage.available_bytes
    assert usage.thin_or_sparse


def test_inodes_are_a_limit_where_there_are_any(tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path, options=",nr_inodes=20") as volume:
        usage = LocalLook().usage(os.fsencode(volume))

    assert [limit.available_inodes for limit in usage.limits if limit.name == "inodes"] == [usage.available_inodes]
    assert usage.total_inodes == 20


@pytest.mark.parametrize("kind", ["xfs", "btrfs"])
def test_settle_waits_for_blocks_that_come_back_late(kind: str, tmp_path: Path) -> None:
    with mounted(kind, tmp_path) as volume:
        (volume / "big").write_bytes(b"x" * 40_000_000)
        os.sync()
        before = LocalLook().usage(os.fsencode(volume)).available_bytes
        (volume / "big").unlink()

        wanted = before + 39_000_000
        after = LocalLook().settle(os.fsencode(volume), target_available_bytes=wanted, deadline_seconds=5)

    assert after.available_bytes >= wanted


def test_settle_gives_up_at_its_deadline(tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path) as volume:
        started = time.monotonic()
        usage = LocalLook().settle(os.fsencode(volume), target_available_bytes=2**50, deadline_seconds=0.3)

    assert 0.3 <= time.monotonic() - started < 2
    assert usage.available_bytes < 2**50


def test_a_mount_that_does_not_answer_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "silent"
    place.mkdir()
    (tmp_path / "file").touch()

    with mounted("tmpfs", tmp_path) as volume, silent_mount(place):
        started = time.monotonic()
        known = {usage.mount for usage in LocalLook().mounts()}
        with pytest.raises(HostFailure, match="does not answer"):
            LocalLook().usage(os.fsencode(place))
        report = LocalLook().holders(os.fsencode(tmp_path / "file"))
        elapsed = time.monotonic() - started

    assert os.fsencode(volume) in known
    assert os.fsencode(place) not in known
    assert elapsed < 15
    assert report.holders == ()


def test_the_look_at_a_fuse_filesystem_says_what_it_cannot_know(tmp_path: Path) -> None:
    from artifactctl.hosts.probe import blindness, mounts

    place = tmp_path / "silent"
    place.mkdir()
    with silent_mount(place):
        (mount,) = [mount for mount in mounts.read() if mount.point == os.fsencode(place)]

    assert [spot["kind"] for spot in blindness.of_filesystem(mount)] == [BlindSpotKind.NETWORK_FILESYSTEM]


def test_mounts_lists_a_filesystem_once_however_often_it_is_bound(tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path) as volume:
        (volume / "inner").mkdir()
        (tmp_path / "bound").mkdir()
        run("mount", "--bind", volume / "inner", tmp_path / "bound")
        try:
            known = [usage.mount for usage in LocalLook().mounts() if usage.mount.startswith(os.fsencode(tmp_path))]
        finally:
            run("umount", tmp_path / "bound")

    assert known == [os.fsencode(volume)]
    assert not {b"/proc", b"/sys", b"/dev/pts"} & set(known)
