"""Texts of the kernel and of other programs, as they are read."""

import pytest

from artifactctl.hosts.probe import blindness, limits, mounts

TABLE = rb"""24 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 24 0:29 /sv /data/with\040blank rw,nosuid shared:5 master:1 - btrfs /dev/loop0 rw,subvolid=256
31 24 7:1 / /vol rw,relatime - ext4 /dev/loop1 emergency_ro,errors=remount-ro
32 31 7:1 /a\134b//deleted /vol/bound ro,relatime - ext4 /dev/loop1 rw
33 24 0:40 / /net rw - nfs4 server:/export\011x rw,vers=4.2
34 24 0:41 / /net rw - fuse.sshfs host: rw
broken line
"""


def test_a_mount_table_is_read_with_escapes_and_optional_fields() -> None:
    table = mounts.parse(TABLE)

    assert [mount.mount_id for mount in table] == [24, 30, 31, 32, 33, 34]
    assert table[1].point == b"/data/with blank"
    assert (table[1].root, table[1].type, table[1].source, table[1].device) == (b"/sv", "btrfs", "/dev/loop0", "0:29")
    assert table[3].root == b"/a\\b//deleted"
    assert table[4].source == "server:/export\tx"
    assert [mount.is_read_only for mount in table] == [False, False, True, True, False, False]
    assert [mount.is_remote for mount in table] == [False, False, False, False, True, True]


@pytest.mark.parametrize(
    ("point", "kind", "stores"),
    [
        ("/", "ext4", True),
        ("/", "overlay", True),
        ("/boot/efi", "vfat", True),
        ("/data", "nfs4", True),
        ("/mnt/bucket", "fuse.s3fs", True),
        ("/dev/shm", "tmpfs", True),
        ("/tmp", "tmpfs", True),
        ("/mnt/ramdisk", "tmpfs", True),
        ("/run", "tmpfs", False),
        ("/run/user/1000", "tmpfs", False),
        ("/run/lock", "tmpfs", False),
        ("/dev", "tmpfs", False),
        ("/dev", "devtmpfs", False),
        ("/sys/fs/cgroup", "tmpfs", False),
        ("/sys/fs/cgroup", "cgroup2", False),
        ("/proc/acpi", "tmpfs", False),
        ("/var/lib/docker/overlay2/1f/merged", "overlay", False),
        ("/snap/core22/1", "squashfs", False),
    ],
)
def test_a_volume_is_where_people_store_things(point: str, kind: str, stores: bool) -> None:
    (mount,) = mounts.parse(f"24 1 0:41 / {point} rw - {kind} source rw".encode())

    assert mount.is_for_storing is stores


@pytest.mark.parametrize(
    ("path", "number"),
    [(b"/etc", 24), (b"/vol", 31), (b"/volume", 24), (b"/vol/bound/x", 32), (b"/net/file", 34)],
)
def test_a_path_belongs_to_the_last_of_the_longest_mount_points(path: bytes, number: int) -> None:
    found = mounts.holding(mounts.parse(TABLE), path)

    assert found is not None
    assert found.mount_id == number


def test_a_later_mount_hides_an_earlier_one_at_the_same_point() -> None:
    assert [mount.mount_id for mount in mounts.visible(mounts.parse(TABLE)) if mount.point == b"/net"] == [34]


@pytest.mark.parametrize(
    ("path", "top", "below"),
    [(b"/a/b", b"/a", True), (b"/ab", b"/a", False), (b"/a", b"/a", True), (b"/a", b"/", True), (b"/", b"/a", False)],
)
def test_below_means_by_whole_names(path: bytes, top: bytes, below: bool) -> None:
    assert mounts.lies_at_or_below(path, top) is below


def test_the_fullest_target_of_a_pool_is_the_limit() -> None:
    text = """UUID                   1K-blocks        Used   Available Use% Mounted on
scratch-MDT0000_UUID    94371840     1234567         100  19% /scratch[MDT:0]
scratch-OST0000_UUID  1048576000   548576000   500000000  53% /scratch[OST:0]
scratch-OST0001_UUID  1048576000  1047576000     1000000 100% /scratch[OST:1]
OST0002             : inactive device

filesystem_summary:   2097152000  1596152000   501000000  77% /scratch
"""

    (limit,) = limits.fullest_target(text)

    assert (limit["name"], limit["available_bytes"]) == ("fullest OST", 1_000_000 * 1024)
    assert limit["detail"] == "scratch-OST0001_UUID"
    assert limits.fullest_target("lfs: not found") == []


def test_exports_overlap_from_above_and_from_below() -> None:
    lines = [b"# comment", b"/data/with\\040blank\t*(rw)", b'"/srv" host(ro)', b""]

    paths = blindness.exported_paths(lines)

    assert paths == [b"/data/with blank", b"/srv"]
    assert blindness.overlaps(b"/srv", b"/srv/x")
    assert blindness.overlaps(b"/srv/x", b"/srv")
    assert not blindness.overlaps(b"/srv", b"/srv2")
