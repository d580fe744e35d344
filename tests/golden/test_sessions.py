"""Every session in this folder goes as it is written down."""

from pathlib import Path

import pytest

from tests.bench.golden import check_session
from tests.bench.warm_command_line import WarmCommandLine

SESSIONS = sorted(Path(__file__).parent.glob("*.session"))


@pytest.mark.parametrize("session", SESSIONS, ids=[session.stem for session in SESSIONS])
def test_the_session_goes_as_written(session: Path, warm_cli: WarmCommandLine) -> None:
    check_session(session, warm_cli)
