"""The fixtures every test may ask for; each is a thin door to the module that does the work."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from artifactctl.catalog import create_or_upgrade
from tests.bench.clocks import NOON, FixedClock
from tests.bench.command_line import CommandLine, command_line
from tests.bench.machines import Fittings, Machine, SshHome, running_machine, ssh_home
from tests.bench.nobody import NOBODY, prefix_for_nobody
from tests.bench.postgres import Server, running_server, why_no_server
from tests.bench.sandbox import CHECKOUT, system_tests_are_demanded
from tests.bench.site import Site, managed_site
from tests.bench.volumes import FilesystemKind, Volume, mounted_volume
from tests.bench.warm_command_line import ForkServer, WarmCommandLine, fork_server

VolumeFactory = Callable[..., Volume]


@pytest.fixture
def volumes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VolumeFactory]:
    """Return a maker of volumes: `volumes(FilesystemKind.EXT4, size_bytes=..., inodes=...)`, see `mounted_volume`.

    They are mounted below the sandbox's own /run, where other users can reach them; pytest's folders are closed.
    """
    images = tmp_path_factory.mktemp("images")
    with ExitStack() as stack:

        def make(kind: FilesystemKind, **options: Any) -> Volume:
            place = Path(tempfile.mkdtemp(prefix="volume-", dir="/run"))
            place.chmod(0o755)
            stack.callback(place.rmdir)
            return stack.enter_context(mounted_volume(kind, place, images=images, **options))

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


@pytest.fixture
def clock() -> FixedClock:
    """A clock that stands at noon until the test moves it."""
    return FixedClock()


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """The real command line in a process of its own: `cli("ls", "--json").json()`. Its catalog lives in tmp_path."""
    return command_line(tmp_path)


@pytest.fixture
def cli_of_nobody() -> Iterator[CommandLine]:
    """The same run by the user nobody, whose home and working directory are its own (system tests only)."""
    folder = Path(tempfile.mkdtemp(prefix="nobody-", dir="/run"))
    folder.chmod(0o755)
    runner = command_line(folder, prefix=prefix_for_nobody())
    for owned in (runner.home, runner.cwd):
        os.chown(owned, NOBODY, NOBODY)
    yield runner
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL server for the whole session; tests that need it fail or are skipped where there is none."""
    reason = why_no_server()
    if reason and system_tests_are_demanded():
        pytest.fail(f"{reason} (ARTIFACTCTL_REQUIRE_SYSTEM is set)", pytrace=False)
    if reason:
        pytest.skip(reason)
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def catalog_template(postgres: Server) -> str:
    """The name of a database that holds a catalog which was just made, to be copied: making one takes a second."""
    name = postgres.new_database()
    create_or_upgrade(postgres.url(name), now=NOON).close()
    return name


@pytest.fixture
def empty_database(postgres: Server) -> Iterator[str]:
    """The URL of a database of the test's own with nothing in it."""
    name = postgres.new_database()
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture
def catalog_database(postgres: Server, catalog_template: str) -> Iterator[str]:
    """The URL of a database of the test's own with a new catalog in it."""
    name = postgres.new_database(template=catalog_template)
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def new_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a catalog that was just made, to be copied: making one takes half a second."""
    location = tmp_path_factory.mktemp("new") / "state" / "catalog.db"
    create_or_upgrade(location, now=NOON).close()
    return location


@pytest.fixture
def catalog_file(tmp_path: Path) -> Path:
    """Where a test keeps its catalog when that is a file; nothing is there yet."""
    return tmp_path / "state" / "catalog.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """Which database the test's catalog is kept in; `tests.bench.databases` has marks for tests that concern one."""
    kind: str = request.param
    return kind


@pytest.fixture
def catalog_address(database: str, request: pytest.FixtureRequest) -> str:
    """Where a new catalog is: the name of its file, or its URL."""
    if database == "postgresql":
        url: str = request.getfixturevalue("catalog_database")
        return url
    new, own = request.getfixturevalue("new_catalog"), request.getfixturevalue("catalog_file")
    shutil.copytree(new.parent, own.parent, ignore=shutil.ignore_patterns("*-shm"))
    return str(own)


@pytest.fixture
def empty_address(database: str, request: pytest.FixtureRequest) -> str:
    """Where a catalog can be made: the name of an empty file, or the URL of an empty database."""
    if database == "postgresql":
        url: str = request.getfixturevalue("empty_database")
        return url
    own: Path = request.getfixturevalue("catalog_file")
    own.parent.mkdir()
    own.touch()
    return str(own)


SiteFactory = Callable[[Volume], Site]


@pytest.fixture(scope="session")
def warm_server() -> Iterator[ForkServer]:
    """The one process whose forks run the commands of `warm_cli`, for the whole session."""
    with fork_server() as server:
        yield server


@pytest.fixture
def warm_cli(tmp_path: Path, warm_server: ForkServer) -> WarmCommandLine:
    """As `cli`, without the start-up time; for tests that need many commands."""
    plain = command_line(tmp_path)
    return WarmCommandLine(home=plain.home, cwd=plain.cwd, server=warm_server)


@pytest.fixture
def site_on(warm_cli: WarmCommandLine) -> SiteFactory:
    """Return a maker of the one managed root of a test: `site_on(volume)`."""

    return lambda volume: managed_site(volume, warm_cli)


@pytest.fixture
def site(ext4_volume: Volume, site_on: SiteFactory) -> Site:
    """A managed root on ext4 with the command line that manages it."""
    return site_on(ext4_volume)


MachineFactory = Callable[..., Machine]


@pytest.fixture
def machines() -> Iterator[MachineFactory]:
    """Return a maker of machines to reach over ssh: `machines("alpha", shell="/bin/sh", ...)`, see `Fittings`."""
    with ExitStack() as stack:
        yield lambda name="alpha", **fittings: stack.enter_context(running_machine(name, Fittings(**fittings)))


@pytest.fixture
def ssh(tmp_path: Path) -> SshHome:
    """The home of somebody who connects, with an empty `.ssh`."""
    return ssh_home(tmp_path / "home")


@pytest.fixture
def machine(machines: MachineFactory, ssh: SshHome) -> Machine:
    """One machine that lets this person in, and whose key they know."""
    made = machines()
    ssh.can_enter(made)
    ssh.knows(made)
    return made
