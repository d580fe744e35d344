"""A real server that speaks S3, on this machine, for the time of a test session; and one that lies."""

import importlib.util
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MISSING = [name for name in ("moto", "s3fs", "flask") if importlib.util.find_spec(name) is None]
"""What the extras `archive` and `test` bring and is not installed."""


@contextmanager
def s3_server() -> Iterator[str]:
    """Run moto's server in a process of its own and yield its URL."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    log = process.stdout
    reader = threading.Thread(target=log.read)  # or its log fills the pipe
    with process:
        try:
            found = next(filter(None, (re.search(r"Running on (http://127\.0\.0\.1:\d+)", line) for line in log)), None)
            assert found is not None, "the server ended before it said where it is"
            reader.start()
            yield found[1]
        finally:
            process.terminate()
            reader.join(timeout=20)


class _Liar(BaseHTTPRequestHandler):
    """Says 200 to everything and keeps nothing."""

    protocol_version = "HTTP/1.1"

    def _agree(self) -> None:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                self.rfile.read(size + 2)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.close_connection = True
        self.send_response(200)
        self.send_header("Connection", "close")
        self.send_header("ETag", '"d41d8cd98f00b204e9800998ecf8427e"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _agree  # noqa: N815  the names are those of the base class

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def lying_server() -> Iterator[str]:
    """Run a server that takes everything and keeps nothing, and yield its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Liar)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment_for(server: str) -> dict[str, str]:
    """Return what names the server and holds the credentials."""
    return {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "the-key-id",
        "AWS_SECRET_ACCESS_KEY": "the-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONWARNINGS": "ignore",
    }
