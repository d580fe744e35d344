"""A purge over ssh that loses its link, its machine or its client half-way: nobody guesses, the journal knows."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from artifactctl.domain.errors import HostUnreachable
from artifactctl.domain.operations import JournalEvent
from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.ssh.address import parse_address
from artifactctl.hosts.ssh.connection import open_connection
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.pinning import stored_pin
from artifactctl.hosts.ssh.python import start_python
from artifactctl.hosts.wire.bootstrap import CODE
from artifactctl.hosts.wire.greeting import Manners
from tests.bench.sandbox import CHECKOUT
from tests.hosts.act_ground import managed, picture, plant

pytestmark = pytest.mark.system

IMPATIENT = Manners(beat_seconds=0.2, silence_seconds=2.0)
FILES = 40
AGENT = "zlib"
"""A word of the agent's own command line."""


@pytest.fixture
def place(machines, ssh, ext4_volume):
    """A machine that has the test's volume at the test's own path, with a tree of it set aside and condemned."""
    folder = ext4_volume.mount / "data"
    folder.mkdir()
    ground = managed(folder)
    machine = machines()
    ssh.can_enter(machine)
    plant(ground.at("old"), files=FILES, size=100)
    plant(ground.at("kept"))
    ground.condemn("old")
    return machine, ground


@pytest.fixture
def connect(ssh):
    """Return a function that gives a machine as a host; all are closed at the end."""
    opened = []

    def to(machine):
        destination = resolve(parse_address(machine.address()), environment=ssh.environment)
        connection = open_connection(
            destination,
            stored_pin(machine.public_key(), name=machine.name),
            environment=ssh.environment,
            interval=timedelta(seconds=0.5),
            patience=timedelta(seconds=1),
        )
        opened.append(connection)
        return RemoteHost(start_python(connection, CODE), machine=machine.name, manners=IMPATIENT)

    yield to
    for connection in opened:
        connection.close()


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


FAULTS = {
    "partition": (lambda machine: machine.cut(), lambda machine: machine.mend()),
    "frozen": (lambda machine: machine.freeze(), lambda machine: machine.thaw()),
    "killed sshd": (lambda machine: machine.kill_sshd(), lambda machine: machine.start_sshd()),
}


@pytest.mark.parametrize(("fault", "cure"), FAULTS.values(), ids=FAULTS)
def test_a_purge_whose_link_dies_is_unknown_until_the_journal_is_asked_and_then_completed(fault, cure, place, connect):
    machine, ground = place
    kept = picture(ground.at("kept"))
    begun = []

    def strike(*_):
        if not begun:
            begun.append(True)
            fault(machine)

    with pytest.raises(HostUnreachable):
        connect(machine).purge(ground.root, "op1", files_per_second=20, progress=strike)
    cure(machine)
    until(lambda: not machine.running(AGENT))
    left = len(os.listdir(ground.content()))
    again = connect(machine)
    (record,) = again.operations(ground.root)
    lock = again.lock(ground.root)
    result = again.purge(ground.root, "op1")

    assert begun
    assert left > 0, "the agent that was left alone went on"
    assert (record.event, record.in_purging) == (JournalEvent.PURGING, True)
    assert lock.still_held()
    assert result.complete
    assert ground.record().event is JournalEvent.PURGED
    assert picture(ground.at("kept")) == kept


CLIENT = """
import sys
from datetime import timedelta
from artifactctl.domain.artifacts import Root
from artifactctl.domain.ledger import KnownHost
from artifactctl.hosts.connecting import connect
known = KnownHost(host_id=1, name="gpu1", machine_id={machine_id!r}, address={address!r}, host_key={host_key!r})
host = connect(known, environment={environment!r})
host.purge({root!r}, "op1", files_per_second=20, progress=lambda *_: print("begun", flush=True))
"""


def test_a_killed_client_leaves_nothing_running_and_nothing_lost(place, ssh, connect):
    machine, ground = place
    script = CLIENT.format(
        machine_id=machine.machine_id,
        address=machine.address(),
        host_key=machine.public_key(),
        environment=ssh.environment,
        root=replace(ground.root),
    )
    client = subprocess.Popen([sys.executable, "-c", script], cwd=CHECKOUT, stdout=subprocess.PIPE)
    assert client.stdout is not None
    assert client.stdout.readline() == b"begun\n"

    client.send_signal(signal.SIGKILL)
    client.communicate()

    until(lambda: not machine.running(AGENT))
    assert ground.record().event is JournalEvent.PURGING
    assert connect(machine).purge(ground.root, "op1").complete
