"""Sessions on a volume of their own: 4 TiB of tmpfs, whose figures are the same on every machine."""

from dataclasses import replace
from pathlib import Path

import pytest

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
