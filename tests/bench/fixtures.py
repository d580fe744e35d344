"""The fixtures every test may ask for; each is a thin door to the module that does the work."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bench.sandbox import CHECKOUT
from tests.bench.volumes import FilesystemKind, Volume, mounted_volume

VolumeFactory = Callable[..., Volume]


@pytest.fixture
def volumes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VolumeFactory]:
    """Return a maker of volumes: `volumes(FilesystemKind.EXT4, size_bytes=..., inodes=...)`, see `mounted_volume`."""
    with ExitStack() as stack:

        def make(kind: FilesystemKind, **options: object) -> Volume:
            place = tmp_path_factory.mktemp("volume")
            return stack.enter_context(mounted_volume(kind, place, **options))  # type: ignore[arg-type]

        yield make


@pytest.fixture
def ext4_volume(volumes: VolumeFactory) -> Volume:
    """An empty ext4 volume of 256 MiB."""
    return volumes(FilesystemKind.EXT4)


@pytest.fixture
def xfs_volume(volumes: VolumeFactory) -> Volume:
    """An empty xfs volume of 320 MiB."""
    return volumes(FilesystemKind.XFS)


@pytest.fixture
def btrfs_volume(volumes: VolumeFactory) -> Volume:
    """An empty btrfs volume of 256 MiB."""
    return volumes(FilesystemKind.BTRFS)


@pytest.fixture
def tmpfs_volume(volumes: VolumeFactory) -> Volume:
    """An empty tmpfs of 64 MiB."""
    return volumes(FilesystemKind.TMPFS)


@pytest.fixture(params=list(FilesystemKind), ids=str)
def any_local_volume(request: pytest.FixtureRequest, volumes: VolumeFactory) -> Volume:
    """An empty volume; the test runs once on each of ext4, xfs, btrfs and tmpfs."""
    kind: FilesystemKind = request.param
    return volumes(kind)


@pytest.fixture
def checkout() -> Path:
    """Return the top of the source tree under test."""
    return CHECKOUT
