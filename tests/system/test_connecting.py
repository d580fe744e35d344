"""`connect`: a machine of the catalog as a `Host`, over real sshd."""

import time
from dataclasses import replace

import pytest

from artifactctl.domain.errors import HostRefused
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.connecting import connect
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.ssh.failures import HostKeyRefused
from tests.bench.machines import DATA
from tests.bench.volumes import FilesystemKind

pytestmark = pytest.mark.system

NOISE = "echo 4096; echo warning >&2; printf '\\377\\000'\n"


def known(machine, *, user="root", sudo=False):
    return KnownHost(
        host_id=1,
        name="gpu1",
        machine_id=machine.machine_id,
        address=machine.address(user),
        host_key=machine.public_key(),
        uses_sudo=sudo,
    )


def test_a_machine_is_asked_what_this_one_would_be_asked(machines, ssh, volumes):
    volume = volumes(FilesystemKind.EXT4)
    machine = machines(volume=volume, startup=NOISE)
    ssh.can_enter(machine)
    (volume.mount / "folder").mkdir()
    (volume.mount / "folder" / "file").write_bytes(bytes(5000))
    began = time.monotonic()

    with connect(known(machine), environment=ssh.environment) as host:
        assert isinstance(host, RemoteHost)
        identity = host.identify()
        assert time.monotonic() - began < 5
        listings = list(host.walk(bytes(DATA)))
        usage = host.usage(bytes(DATA))

    assert (identity.machine_id, identity.hostname) == (machine.machine_id, "alpha")
    assert b"file" in {entry.name for listing in listings for entry in listing.entries}
    assert (usage.mount, usage.filesystem_type) == (bytes(DATA), "ext4")


def test_nothing_is_left_running_there_when_it_is_closed(machine, ssh):
    host = connect(known(machine), environment=ssh.environment)
    assert machine.running("READY") or machine.running("zlib")

    host.close()

    deadline = time.monotonic() + 10
    while machine.running("zlib") or machine.running("notty"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_sudo_makes_the_agent_root(machines, ssh):
    machine = machines(sudo="worker ALL=(root) NOPASSWD: ALL")
    ssh.can_enter(machine)

    with connect(known(machine, user="worker", sudo=True), environment=ssh.environment) as host:
        assert host.greeting.user == 0


def test_another_machine_id_behind_the_address_is_refused_with_both(machine, ssh):
    other = replace(known(machine), machine_id="0123456789abcdef0123456789abcdef")

    with pytest.raises(HostRefused, match="is not the machine gpu1") as refused:
        connect(other, environment=ssh.environment)

    assert machine.machine_id in refused.value.message
    assert other.machine_id in refused.value.message


def test_without_python_it_can_only_be_measured(machines, ssh):
    machine = machines(python=False)
    ssh.can_enter(machine)
    host = connect(known(machine), environment=ssh.environment)

    assert host.usage(bytes(DATA)).filesystem_type == "tmpfs"
    with pytest.raises(HostRefused, match="no Python"):
        host.walk(bytes(DATA))
    host.close()


def test_a_key_that_was_revoked_by_hand_since_the_machine_was_added_is_refused(machine, ssh):
    with ssh.known_hosts.open("a") as file:
        file.write(f"@revoked * {machine.public_key()}\n")

    with pytest.raises(HostKeyRefused, match="known_hosts marks as revoked"):
        connect(known(machine), environment=ssh.environment)
