"""A machine without Python: df and du are answered, and everything else says what to install."""

import os

import pytest

from artifactctl.domain.errors import HostFailure, HostRefused
from artifactctl.hosts.ssh.address import parse_address
from artifactctl.hosts.ssh.connection import open_connection
from artifactctl.hosts.ssh.coreutils import CoreutilsHost
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.pinning import known_pin
from tests.bench.machines import DATA
from tests.bench.unimportable import nothing_of_linux
from tests.bench.volumes import FilesystemKind

pytestmark = pytest.mark.system

NOISE = "echo 4096; echo warning >&2; printf '\\377\\000'\n"
BUSYBOX_DU = '#!/bin/sh\ncase "$*" in *-B1*) exit 1;; *) exec /usr/bin/du "$@";; esac\n'


@pytest.fixture
def bare(machines, ssh):
    """Return a function that makes a machine without Python and gives (machine, host)."""
    opened = []

    def make(user="root", **fittings):
        machine = machines(python=False, startup=NOISE, **fittings)
        ssh.can_enter(machine)
        ssh.knows(machine)
        destination = resolve(parse_address(machine.address(user)), environment=ssh.environment)
        connection = open_connection(destination, known_pin(destination), environment=ssh.environment)
        host = CoreutilsHost(connection, name="gpu1")
        opened.append(host)
        return machine, host

    yield make
    for host in opened:
        host.close()


@pytest.mark.parametrize("kind", [FilesystemKind.EXT4, FilesystemKind.XFS])
def test_the_space_is_what_statvfs_says(kind, bare, volumes):
    volume = volumes(kind)
    _, host = bare(volume=volume)
    (volume.mount / "file").write_bytes(bytes(5_000_000))
    os.sync()
    truth = os.statvfs(volume.mount)

    usage = host.usage(bytes(DATA / "file"))

    assert (usage.mount, usage.filesystem_type) == (bytes(DATA), kind)
    assert usage.available_bytes == truth.f_bavail * truth.f_frsize
    assert (usage.size_bytes, usage.free_bytes) == (truth.f_blocks * truth.f_frsize, truth.f_bfree * truth.f_frsize)
    assert (usage.total_inodes, usage.available_inodes) == (truth.f_files, truth.f_ffree)
    assert not usage.read_only
    assert usage in host.mounts()


@pytest.mark.parametrize("programs", [{}, {"du": BUSYBOX_DU}], ids=["GNU", "blocks of 1024"])
@pytest.mark.parametrize("name", [b"plain", b"a'b \n$(id)\xff\xfe", b"--all", b"trailing\n"])
def test_the_size_of_a_tree_is_what_is_allocated_each_inode_once(name, programs, bare, volumes):
    volume = volumes(FilesystemKind.EXT4)
    _, host = bare(volume=volume, programs=programs)
    top = bytes(volume.mount) + b"/" + name
    os.mkdir(top)
    with open(top + b"/data", "wb") as file:
        file.write(bytes(3_000_000))
    os.link(top + b"/data", top + b"/again")
    os.symlink("/", top + b"/link")
    os.sync()
    allocated = sum(os.lstat(path).st_blocks * 512 for path in (top, top + b"/data", top + b"/link"))

    size = host.tree_size(bytes(DATA) + b"/" + name)

    assert (size.allocated_bytes, size.problems) == (allocated, ())
    assert host.usage(bytes(DATA) + b"/" + name).mount == bytes(DATA)


def test_a_tree_that_cannot_all_be_read_says_so(bare):
    machine, host = bare("worker")
    machine.inside("mkdir", "-p", DATA / "top" / "closed")
    machine.inside("chmod", "700", DATA / "top" / "closed")

    size = host.tree_size(bytes(DATA / "top"))

    assert size.problems
    assert "closed" in size.problems[0]


def test_it_answers_where_nothing_of_linux_can_be_imported(bare):
    with nothing_of_linux():
        _, host = bare()

        assert host.usage(bytes(DATA)) in host.mounts()
        assert host.tree_size(bytes(DATA)).problems == ()


def test_what_is_not_there_has_neither_space_nor_size(bare):
    _, host = bare()

    with pytest.raises(HostFailure, match="not there"):
        host.tree_size(bytes(DATA / "nothing"))
    with pytest.raises(HostFailure, match="not there"):
        host.usage(bytes(DATA / "nothing" / "below"))


@pytest.mark.parametrize("said", ["", "4096", "4096\\t/run/da"], ids=["nothing", "a number", "most of a line"])
def test_a_du_that_is_killed_gives_no_number(said, bare):
    _, host = bare(programs={"du": f"#!/bin/sh\nprintf '{said}'; kill -9 $$\n"})

    with pytest.raises(HostFailure, match="does not say how large"):
        host.tree_size(bytes(DATA))


def test_everything_else_is_refused_with_what_to_install(bare):
    _, host = bare()

    for refused in (host.walk, host.observe, host.set_aside, host.purge, host.lock, host.write_marker, host.digest):
        with pytest.raises(HostRefused, match="no Python") as refusal:
            refused(b"/run/data")
        assert "install python3 on gpu1" in refusal.value.remedy
    with pytest.raises(AttributeError):
        host.nothing_like_it  # noqa: B018


def test_it_says_who_it_is_and_what_time_it_has(bare):
    machine, host = bare()

    assert host.identify().machine_id == machine.machine_id
    assert host.now().tzinfo is not None
