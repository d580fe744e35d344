"""A small PostgreSQL cluster of its own, for as long as a test module runs."""

import glob
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

OWNER, PASSWORD = "keeper", "secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running cluster; every role has the one password."""

    port: int

    def url(self, database: str, *, user: str = OWNER, password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, *, database: str = "postgres", user: str = OWNER) -> None:
        with psycopg.connect(self.url(database, user=user), autocommit=True) as connection:
            connection.execute(statement.encode())


def programs() -> list[str]:
    """Return the paths of `initdb`; distributions keep the server's programs out of PATH."""
    return sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))


@contextmanager
def running_server() -> Iterator[Server]:
    found = Path(programs()[-1]).parent
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.getuid() == 0 else []

    def run(program: str, *words: str) -> None:
        with (folder / "said").open("wb") as said:
            command = [*as_postgres, str(found / program), *words]
            subprocess.run(command, cwd=folder, stdout=said, stderr=said, stdin=subprocess.DEVNULL, check=True)

    try:
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        for owned in (folder, folder / "password"):
            if os.getuid() == 0:
                shutil.chown(owned, "postgres", "postgres")
        data = f"--pgdata={folder / 'data'}"
        run("initdb", data, f"--username={OWNER}", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}", "-N")
        options = f"-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "start", "--wait", data, f"--log={folder / 'log'}", "-o", options)
        try:
            yield Server(port=port)
        finally:
            run("pg_ctl", "stop", "--wait", "--mode=immediate", data)
    finally:
        shutil.rmtree(folder)
