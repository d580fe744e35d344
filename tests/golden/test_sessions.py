"""Every session in this folder goes as it is written down."""

from pathlib import Path

import pytest

from tests.bench.command_line import CommandLine
from tests.bench.golden import check_session

SESSIONS = sorted(Path(__file__).parent.glob("*.session"))


@pytest.mark.parametrize("session", SESSIONS, ids=[session.stem for session in SESSIONS])
def test_the_session_goes_as_written(session: Path, cli: CommandLine) -> None:
    check_session(session, cli)
