"""What of the contract depends on the filesystem, on the other ones that artifactctl promises to understand."""

from collections.abc import Iterator

import pytest

from tests.bench.volumes import FilesystemKind, Volume, mounted_volume
from tests.contract.identities import IdentityContract
from tests.contract.local_workshop import LocalWorkshop, local_workshop
from tests.contract.observing import ObservationContract
from tests.contract.purging import PurgeContract
from tests.contract.restoring import RestoreContract
from tests.contract.sharing import SharedNamesContract
from tests.contract.space import SpaceContract
from tests.contract.writing import ContentLookContract

pytestmark = pytest.mark.system

OTHERS = [FilesystemKind.XFS, FilesystemKind.BTRFS, FilesystemKind.TMPFS]


@pytest.fixture(scope="module", params=OTHERS, ids=str)
def volume(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    """One volume of each kind for all tests of this module."""
    with mounted_volume(request.param, tmp_path_factory.mktemp("contract")) as made:
        yield made


@pytest.fixture
def workshop(volume: Volume) -> Iterator[LocalWorkshop]:
    """A new folder on the volume."""
    with local_workshop(volume) as made:
        yield made


class TestIdentity(IdentityContract):
    """On this filesystem."""


class TestObservation(ObservationContract):
    """On this filesystem."""


class TestRestore(RestoreContract):
    """On this filesystem."""


class TestPurge(PurgeContract):
    """On this filesystem."""


class TestSharedNames(SharedNamesContract):
    """On this filesystem."""


class TestContentLook(ContentLookContract):
    """On this filesystem."""


class TestSpace(SpaceContract):
    """On this filesystem."""
