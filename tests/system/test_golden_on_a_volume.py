"""Sessions on a volume of their own: 4 TiB of tmpfs, whose figures are the same on every machine.

They go word for word the same where the catalog is on a server, but for the place of the catalog.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.bench.fixtures import VolumeFactory
from tests.bench.golden import check_session
from tests.bench.sandbox import CHECKOUT
from tests.bench.volumes import FilesystemKind
from tests.bench.warm_command_line import WarmCommandLine

pytestmark = pytest.mark.system

SESSIONS = sorted((CHECKOUT / "tests" / "golden" / "on_a_volume").glob("*.session"))


@pytest.mark.parametrize("session", SESSIONS, ids=[session.stem for session in SESSIONS])
def test_the_session_goes_as_written(session: Path, volumes: VolumeFactory, warm_cli: WarmCommandLine) -> None:
    volume = volumes(FilesystemKind.TMPFS, size_bytes=4 * 2**40)

    check_session(session, replace(warm_cli, cwd=volume.mount))


OF_FILES = {"roles"}  # who may do what is a matter of accounts there, and of database roles on a server
ON_A_SERVER = [session for session in SESSIONS if session.stem not in OF_FILES]


@pytest.mark.parametrize("session", ON_A_SERVER, ids=[session.stem for session in ON_A_SERVER])
def test_it_goes_the_same_with_the_catalog_on_a_server(
    session: Path, volumes: VolumeFactory, warm_cli: WarmCommandLine, empty_database: str
) -> None:
    volume = volumes(FilesystemKind.TMPFS, size_bytes=4 * 2**40)
    cli = replace(warm_cli, cwd=volume.mount, extra_environment={"ARTIFACTCTL_CATALOG": empty_database})
    shown = make_url(empty_database).render_as_string(hide_password=True)

    check_session(session, cli, reads_as={shown: "<home>/state/artifactctl/catalog.db"})
