"""Texts of the kernel and of other programs, as they are read."""

import os
from pathlib import Path

import pytest

from artifactctl.hosts.probe import blindness, lustre, mounts, serving

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

    (limit,) = lustre.fullest_target(text)

    assert (limit["name"], limit["available_bytes"]) == ("fullest OST", 1_000_000 * 1024)
    assert limit["detail"] == "scratch-OST0001_UUID"
    assert lustre.fullest_target("lfs: not found") == []


def test_exports_overlap_from_above_and_from_below() -> None:
    lines = [b"# comment", b"/data/with\\040blank\t*(rw)", b'"/srv" host(ro)', b""]

    paths = serving.exported_paths(lines)

    assert paths == [b"/data/with blank", b"/srv"]
    assert serving.overlaps(b"/srv", b"/srv/x")
    assert serving.overlaps(b"/srv/x", b"/srv")
    assert not serving.overlaps(b"/srv", b"/srv2")


def test_the_table_of_exportfs_is_read_like_an_exports_file() -> None:
    lines = [b"/data\t10.0.0.0/24(rw,sync,wdelay,hide,no_subtree_check,sec=sys)", b"/srv/a\\040b\t*(ro)"]

    assert serving.exported_paths(lines) == [b"/data", b"/srv/a b"]


def test_what_a_virtual_machine_sees_stands_in_the_command_line_of_who_shares_it() -> None:
    assert list(serving.shared_by_virtiofsd([b"virtiofsd", b"--shared-dir", b"/data", b"-o", b"cache=auto"])) == [
        b"/data"
    ]
    assert list(serving.shared_by_virtiofsd([b"virtiofsd", b"--shared-dir=/data", b""])) == [b"/data"]
    assert list(serving.shared_by_virtiofsd([b"virtiofsd", b"-o", b"cache=none,source=/data"])) == [b"/data"]
    qemu = [
        b"qemu-system-x86_64",
        b"-virtfs",
        b"local,path=/a,mount_tag=t",
        b"-fsdev",
        b"local,id=x,path=/b",
        b"-m",
        b"4G",
    ]
    assert list(serving.shared_by_qemu(qemu)) == [b"/a", b"/b"]


def test_what_is_not_known_to_be_local_counts_as_shared() -> None:
    def of(kind: str, options: str = "rw") -> mounts.Mount:
        (found,) = mounts.parse(f"1 0 0:9 / /x rw - {kind} source {options}".encode())
        return found

    local = ("ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "overlay")
    assert not any(of(kind).is_shared for kind in local)
    shared = ("nfs4", "lustre", "ceph", "fuse.sshfs", "fuse", "fuseblk", "9p", "virtiofs", "gpfs", "panfs", "vboxsf")
    assert all(of(kind).is_shared for kind in shared)


def test_an_overlay_is_shared_where_a_layer_of_it_is() -> None:
    table = mounts.parse(
        b"1 0 0:9 / /nas rw - nfs4 nas:/v rw\n"
        b"2 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        b"3 2 0:10 / /merged rw - overlay o rw,lowerdir=/nas/a:/opt/b,upperdir=/up,workdir=/work\n"
        b"4 2 0:11 / /here rw - overlay o rw,lowerdir=/opt/b,upperdir=/up,workdir=/work\n"
    )

    (found,) = blindness.of_filesystem(table[2], table)
    assert (found["kind"], found["detail"]) == (
        "network_filesystem",
        "nfs4 from nas:/v: other machines can have files open",
    )
    assert blindness.of_filesystem(table[3], table) == []
    assert blindness.of_filesystem(table[1], table) == []


QUOTAS = {
    "a hard limit on both": (
        """Disk quotas for usr ada (uid 1000):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
       /scratch  1048576       0 4194304       -     1020       0  100000       -
uid 1000 is using default file quota setting
""",
        (3145728 * 1024, 98980),
    ),
    "over the soft limit, in its grace, after a mount point that breaks the line": (
        """Disk quotas for grp lab (gid 2000):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
/lustre/projects/a-very-long-name
                 3500* 3072 4096 6d23h59m52s 10 0 0 -
""",
        (596 * 1024, None),
    ),
    "a target that did not answer": (
        """Disk quotas for prj 77 (pid 77):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
       /scratch [1000]       0  [2000]*      -     [5]       0       0       -
Some errors happened when getting quota info. Some devices may be not working or deactivated.
""",
        (1000 * 1024, None),
    ),
    "a soft limit alone": (
        """Disk quotas for usr ada (uid 1000):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
       /scratch     100    1000       0       -       5       0       0       -
""",
        (900 * 1024, None),
    ),
    "used up": (
        """Disk quotas for usr ada (uid 1000):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
       /scratch   5000*       0    4096       -      7*       0       7    none
""",
        (0, 0),
    ),
    "none": (
        """Disk quotas for usr ada (uid 1000):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
       /scratch     100       0       0       -       5       0       0       -
""",
        (None, None),
    ),
}


@pytest.mark.parametrize("case", QUOTAS)
def test_a_quota_of_lustre_says_what_is_left(case: str) -> None:
    text, left = QUOTAS[case]

    assert lustre.quota_in(text) == left


def test_what_is_no_table_of_quotas_tells_of_none() -> None:
    assert lustre.quota_in("") is None
    assert lustre.quota_in("Permission denied.\n") is None
    assert lustre.quota_in("     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace\n") is None


def test_the_project_of_a_folder_is_the_first_number() -> None:
    assert lustre.project_of("  1234 P /scratch/lab\n") == 1234
    assert lustre.project_of("     0 - /scratch\n") == 0
    assert lustre.project_of("lfs: cannot get project\n") == 0


def test_lfs_is_asked_for_targets_and_for_the_quotas_of_user_group_and_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "lfs"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1 $2" in\n'
        "'project -d') echo '  77 P /scratch/lab' ;;\n"
        "'df '*) echo 's-OST0000_UUID 100 90 10 90% /scratch[OST:0]' ;;\n"
        "*) printf 'Disk quotas:\\n Filesystem kbytes quota limit grace files quota limit grace\\n'\n"
        '   echo "/scratch 1 0 $(test $2 = -p && echo 5 || echo 11) - 1 0 0 -" ;;\n'
        "esac\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    found = {item["name"]: item["available_bytes"] for item in lustre.limits_of(b"/scratch", b"/scratch/lab")}

    assert found == {
        "fullest OST": 10 * 1024,
        "user quota": 10 * 1024,
        "group quota": 10 * 1024,
        "project quota": 4 * 1024,
    }
