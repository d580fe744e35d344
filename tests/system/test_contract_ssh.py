"""The contract over ssh: an agent behind sshd in a network namespace, on the volume that the test's own hands touch.

Where an agent is killed is the same through pipes, where it takes a tenth of the time (`test_contract_local`).
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from artifactctl.hosts.remote import RemoteHost
from artifactctl.hosts.ssh.address import parse_address
from artifactctl.hosts.ssh.connection import Connection, open_connection
from artifactctl.hosts.ssh.destination import resolve
from artifactctl.hosts.ssh.pinning import stored_pin
from artifactctl.hosts.ssh.python import start_python
from artifactctl.hosts.wire.bootstrap import CODE
from tests.bench.machines import Fittings, running_machine, share_with_machines, ssh_home
from tests.bench.volumes import FilesystemKind, Volume, mounted_volume
from tests.contract.content import ContentContract
from tests.contract.holding import HolderContract
from tests.contract.identities import IdentityContract
from tests.contract.local_workshop import LocalWorkshop
from tests.contract.locks import LockContract
from tests.contract.observing import ConfinementContract, ObservationContract
from tests.contract.purging import PurgeContract
from tests.contract.quarantining import QuarantineContract
from tests.contract.remote_workshop import remote_workshop
from tests.contract.restoring import RestoreContract
from tests.contract.walking import WalkContract

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    """One ext4 volume for all tests of this module, which the machine sees at the same path."""
    with mounted_volume(FilesystemKind.EXT4, tmp_path_factory.mktemp("contract")) as made:
        share_with_machines(made)
        yield made


@pytest.fixture(scope="module")
def connection(volume: Volume, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A login on a machine that shares processes with this one."""
    home = ssh_home(tmp_path_factory.mktemp("home"))
    with running_machine("contract", Fittings(volume=volume, shares=True)) as machine:
        home.can_enter(machine)
        destination = resolve(parse_address(machine.address()), environment=home.environment)
        pin = stored_pin(machine.public_key(), name="contract")
        made = open_connection(destination, pin, environment=home.environment)
        yield made
        made.close()


def agent_over(connection: Connection, extra: Mapping[str, str]) -> RemoteHost:
    """Return an agent in a session of its own."""
    variables = f"import os; os.environ.update({dict(extra)!r})\n"
    return RemoteHost(start_python(connection, variables + CODE), machine="contract")


@pytest.fixture(scope="module")
def host(connection: Connection) -> Iterator[RemoteHost]:
    """One agent for all tests of this module."""
    with agent_over(connection, {}) as made:
        yield made


@pytest.fixture
def workshop(volume: Volume, connection: Connection, host: RemoteHost) -> Iterator[LocalWorkshop]:
    """A new folder on the volume."""
    with ExitStack() as stack:
        yield stack.enter_context(remote_workshop(volume, host, lambda extra: agent_over(connection, extra)))


class TestIdentity(IdentityContract):
    """Over ssh."""


class TestWalk(WalkContract):
    """Over ssh."""


class TestContent(ContentContract):
    """Over ssh."""


class TestObservation(ObservationContract):
    """Over ssh."""


class TestConfinement(ConfinementContract):
    """Over ssh."""


class TestHolders(HolderContract):
    """Over ssh."""


class TestLocks(LockContract):
    """Over ssh."""


class TestQuarantine(QuarantineContract):
    """Over ssh."""


class TestRestore(RestoreContract):
    """Over ssh."""


class TestPurge(PurgeContract):
    """Over ssh."""
