"""The contract over the in-memory machine."""

import pytest

from tests.contract.conserving import ConservationContract
from tests.contract.content import ContentContract
from tests.contract.crashes import CrashContract
from tests.contract.fake_workshop import FakeWorkshop
from tests.contract.holding import HolderContract
from tests.contract.identities import IdentityContract
from tests.contract.locks import LockContract
from tests.contract.losing import LossContract
from tests.contract.markers import MarkerContract
from tests.contract.observing import ConfinementContract, ObservationContract
from tests.contract.purging import PurgeContract
from tests.contract.quarantining import QuarantineContract
from tests.contract.referring import ReferrerContract
from tests.contract.restoring import RestoreContract
from tests.contract.sharing import SharedNamesContract
from tests.contract.single_files import SingleFileContract
from tests.contract.space import SpaceContract
from tests.contract.walking import WalkContract
from tests.contract.writing import ContentLookContract


@pytest.fixture
def workshop() -> FakeWorkshop:
    """A new machine in memory."""
    return FakeWorkshop()


class TestIdentity(IdentityContract):
    """Over the fake."""


class TestWalk(WalkContract):
    """Over the fake."""


class TestContent(ContentContract):
    """Over the fake."""


class TestObservation(ObservationContract):
    """Over the fake."""


class TestConfinement(ConfinementContract):
    """Over the fake."""


class TestHolders(HolderContract):
    """Over the fake."""


class TestReferrers(ReferrerContract):
    """Over the fake."""


class TestMarkers(MarkerContract):
    """Over the fake."""


class TestLocks(LockContract):
    """Over the fake."""


class TestQuarantine(QuarantineContract):
    """Over the fake."""


class TestRestore(RestoreContract):
    """Over the fake."""


class TestPurge(PurgeContract):
    """Over the fake."""


class TestSharedNames(SharedNamesContract):
    """Over the fake."""


class TestSingleFiles(SingleFileContract):
    """Over the fake."""


class TestContentLook(ContentLookContract):
    """Over the fake."""


class TestLoss(LossContract):
    """Over the fake."""


class TestSpace(SpaceContract):
    """Over the fake."""


class TestCrashes(CrashContract):
    """Over the fake."""


class TestConservation(ConservationContract):
    """Over the fake."""
