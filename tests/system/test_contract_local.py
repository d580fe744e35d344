"""The whole contract over this machine, on ext4; `test_contract_filesystems.py` has what depends on the filesystem."""

from collections.abc import Iterator

import pytest

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
from tests.contract.restoring import RestoreContract
from tests.contract.sharing import SharedNamesContract
from tests.contract.space import SpaceContract
from tests.contract.walking import WalkContract
from tests.contract.writing import ContentLookContract

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    """One ext4 volume for all tests of this module."""
    with mounted_volume(FilesystemKind.EXT4, tmp_path_factory.mktemp("contract")) as made:
        yield made


@pytest.fixture
def workshop(volume: Volume) -> Iterator[LocalWorkshop]:
    """A new folder on the volume."""
    with local_workshop(volume) as made:
        yield made


class TestIdentity(IdentityContract):
    """Over this machine."""


class TestWalk(WalkContract):
    """Over this machine."""


class TestContent(ContentContract):
    """Over this machine."""


class TestObservation(ObservationContract):
    """Over this machine."""


class TestConfinement(ConfinementContract):
    """Over this machine."""


class TestHolders(HolderContract):
    """Over this machine."""


class TestReferrers(ReferrerContract):
    """Over this machine."""


class TestMarkers(MarkerContract):
    """Over this machine."""


class TestLocks(LockContract):
    """Over this machine."""


class TestQuarantine(QuarantineContract):
    """Over this machine."""


class TestRestore(RestoreContract):
    """Over this machine."""


class TestPurge(PurgeContract):
    """Over this machine."""


class TestSharedNames(SharedNamesContract):
    """Over this machine."""


class TestContentLook(ContentLookContract):
    """Over this machine."""


class TestLoss(LossContract):
    """Over this machine."""


class TestSpace(SpaceContract):
    """Over this machine."""


class TestCrashes(CrashContract):
    """Over this machine."""


class TestConservation(ConservationContract):
    """Over this machine."""
