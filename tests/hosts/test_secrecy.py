"""Command lines that hold a password are shown without it."""

import pytest

from artifactctl.hosts.probe.secrecy import without_passwords


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (
            "artifactctl --catalog postgresql://ada:s3/c:ret@db/x ls",
            "artifactctl --catalog postgresql://ada:***@db/x ls",
        ),
        ("psql postgresql://db/x?user=ada&password=s3cret&a=b", "psql postgresql://db/x?user=ada&password=***&a=b"),
        ("env PGPASSWORD=s3cret artifactctl ls", "env PGPASSWORD=*** artifactctl ls"),
        ("scp ada@node:/data/x .", "scp ada@node:/data/x ."),
        ("artifactctl --catalog postgresql://ada@db:5432/x ls", "artifactctl --catalog postgresql://ada@db:5432/x ls"),
    ],
)
def test_a_password_in_a_command_line_is_not_shown(command: str, shown: str) -> None:
    assert without_passwords(command) == shown
