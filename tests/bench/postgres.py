"""A real PostgreSQL server for the time of the tests, and a database of its own for whoever asks.

The cluster lies in a temporary folder and listens on a unix socket there and on loopback; in the sandbox, which no
network reaches, also for the machines of `bench.machines`. It is set up as teams find one: passwords are asked for, and
text is ordered as people order it, not by its bytes. Only its fsync is off.
"""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

from tests.bench.machines import NETWORK as MACHINES_NETWORK
from tests.bench.sandbox import why_no_system_tests

PASSWORD = "pa:s/s@w%rd"
_USER = "artifactctl_tests"
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "40",
    "log_min_messages": "fatal",
    "wal_level": "replica",
    "max_wal_senders": "2",
}
_START_SECONDS = 60.0


@dataclass(slots=True, kw_only=True)
class Server:
    """A running cluster: `folder` holds data, socket and log; `programs` is where initdb and pg_ctl are."""

    folder: Path
    port: int
    programs: Path
    made: int = field(default=0)

    def url(self, database: str, *, user: str = _USER, password: str = PASSWORD, host: str = "127.0.0.1") -> str:
        """Return the URL by which the program opens a database."""
        return f"postgresql://{user}:{quote(password, safe='')}@{host}:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> "psycopg.Connection[tuple[object, ...]]":
        """Return a connection of the owner that commits each statement."""
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=_USER, password=PASSWORD, dbname=database, autocommit=True
        )

    def execute(self, statement: str, *, database: str = "postgres") -> None:
        """Run one statement as the owner of everything."""
        with self.connect(database) as connection:
            connection.execute(statement.encode())

    def new_database(self, *, template: str = "template1") -> str:
        """Make a database like another one, to which nobody may be connected; return its name."""
        self.made += 1
        name = f"test_{self.made}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database with whoever is still connected to it."""
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def run(self, program: str, *words: str) -> None:
        """Run one of the server's programs as the user that owns the cluster."""
        run_program(self.programs, self.folder, program, *words)


def why_no_server() -> str:
    """Return the reason why no server can be started here, "" when one can."""
    if _programs() is None:
        return "these tests start a PostgreSQL server; install it (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and not _has_user("postgres"):
        return "PostgreSQL does not run as root and there is no user postgres; install the package postgresql"
    return ""


@contextmanager
def running_server() -> Iterator[Server]:
    """Make a cluster, start it, and stop and remove it at the end."""
    programs = _programs()
    assert programs is not None, why_no_server()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        _own(folder)
        data, password = folder / "data", folder / "password"
        password.write_text(PASSWORD, encoding="utf-8")
        _own(password)
        options = [
            "--auth=scram-sha-256",
            f"--username={_USER}",
            f"--pwfile={password}",
            "--no-sync",
            "--encoding=UTF8",
        ]
        ordering = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"]
        run_program(programs, folder, "initdb", *options, *ordering, f"--pgdata={data}")
        with (data / "pg_hba.conf").open("a", encoding="ascii") as rules:
            rules.write(f"host all all {MACHINES_NETWORK} scram-sha-256\n")
        server = Server(folder=folder, port=free_port(), programs=programs)
        with started(server, data):
            yield server
    finally:
        shutil.rmtree(folder)


@contextmanager
def started(server: Server, data: Path, *, port: int | None = None) -> Iterator[None]:
    """Run the cluster in the folder `data` until the block ends."""
    settings = {**_SETTINGS, "port": str(port or server.port), "listen_addresses": _addresses()}
    settings["unix_socket_directories"] = str(server.folder)
    words = " ".join(f"-c {name}={value}" for name, value in settings.items())
    log = server.folder / f"{data.name}.log"
    server.run("pg_ctl", "start", "--wait", f"--pgdata={data}", f"--log={log}", "-o", words)
    try:
        yield
    finally:
        server.run("pg_ctl", "stop", "--wait", "--mode=immediate", f"--pgdata={data}")


def _addresses() -> str:
    return "127.0.0.1" if why_no_system_tests() else "*"


def run_program(programs: Path, folder: Path, program: str, *words: str) -> None:
    """Run a program of the server to its end; RuntimeError with what it said when it fails."""
    log = folder / f"{program}.said"
    with log.open("wb") as said:  # a file: what pg_ctl starts keeps a pipe open for ever
        done = subprocess.run(
            [*_as_postgres(), str(programs / program), *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            timeout=_START_SECONDS,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{program} ended with {done.returncode}: {log.read_text(errors='replace')}")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _programs() -> Path | None:
    """Return the folder of the newest server's programs; distributions keep them out of PATH."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    newest = found[-1] if found else shutil.which("initdb")
    return Path(newest).parent if newest else None


def _as_postgres() -> list[str]:
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]


def _own(path: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(path, "postgres", "postgres")


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
