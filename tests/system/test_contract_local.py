"""The whole contract on ext4, over this machine and over an agent that is asked through pipes.

`test_contract_filesystems.py` has what depends on the filesystem: that is the probe's, and a wire does not change it.
"""

from collections.abc import Iterator

import pytest

from artifactctl.hosts.remote import RemoteHost
from tests.bench.volumes import FilesystemKind, Volume, mounted_volume
from tests.contract.conserving import ConservationContract
from tests.contract.content import ContentContract
from tests.contract.crashes import CrashContract
from tests.contract.holding import HolderContract
from tests.contract.identities import IdentityContract
from tests.contract.local_workshop import LocalWorkshop, local_workshop
from tests.contract.locks import LockContract
from tests.contract.losing import LossContract
from tests.contract.markers import MarkerContract
from tests.contract.observing import ConfinementContract, ObservationContract
from tests.contract.purging import PurgeContract
from tests.contract.quarantining import QuarantineContract
from tests.contract.referring import ReferrerContract
from tests.contract.remote_workshop import agent_here, remote_workshop
from tests.contract.restoring import RestoreContract
from tests.contract.sharing import SharedNamesContract
from tests.contract.single_files import SingleFileContract
from tests.contract.space import SpaceContract
from tests.contract.walking import WalkContract
from tests.contract.writing import ContentLookContract

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    """One ext4 volume for all tests of this module."""
    with mounted_volume(FilesystemKind.EXT4, tmp_path_factory.mktemp("contract")) as made:
        yield made


@pytest.fixture(scope="module", params=["here", "through an agent"])
def remote(request: pytest.FixtureRequest) -> Iterator[RemoteHost | None]:
    """One agent for all tests of this module; None where they ask this machine itself."""
    if request.param == "here":
        yield None
        return
    with agent_here({}) as host:
        yield host


@pytest.fixture
def workshop(volume: Volume, remote: RemoteHost | None) -> Iterator[LocalWorkshop]:
    """A new folder on the volume."""
    with local_workshop(volume) if remote is None else remote_workshop(volume, remote) as made:
        yield made


class TestIdentity(IdentityContract):
    """Here and through an agent."""


class TestWalk(WalkContract):
    """Here and through an agent."""


class TestContent(ContentContract):
    """Here and through an agent."""


class TestObservation(ObservationContract):
    """Here and through an agent."""


class TestConfinement(ConfinementContract):
    """Here and through an agent."""


class TestHolders(HolderContract):
    """Here and through an agent."""


class TestReferrers(ReferrerContract):
    """Here and through an agent."""


class TestMarkers(MarkerContract):
    """Here and through an agent."""


class TestLocks(LockContract):
    """Here and through an agent."""


class TestQuarantine(QuarantineContract):
    """Here and through an agent."""


class TestRestore(RestoreContract):
    """Here and through an agent."""


class TestPurge(PurgeContract):
    """Here and through an agent."""


class TestSharedNames(SharedNamesContract):
    """Here and through an agent."""


class TestSingleFiles(SingleFileContract):
    """Here and through an agent."""


class TestContentLook(ContentLookContract):
    """Here and through an agent."""


class TestLoss(LossContract):
    """Here and through an agent."""


class TestSpace(SpaceContract):
    """Here and through an agent."""


class TestCrashes(CrashContract):
    """Here and through an agent."""


class TestConservation(ConservationContract):
    """Here and through an agent."""
