"""A real SGLang server on this CPU, in an environment of its own."""

import json
import os
import shlex
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.sandbox import CHECKOUT

KERNELS = Path(__file__).parent / "kernels"
START_SECONDS = 900
ON_A_CPU = (
    "--device cpu --attention-backend torch_native --dtype bfloat16 --skip-tokenizer-init "
    "--mem-fraction-static 0.5 --max-total-tokens 4096 --max-running-requests 4"
)


@contextmanager
def real_server(python: Path, model: Path, log: Path, *, flags: Sequence[str]) -> Iterator[str]:
    """Run a server with some flags; yield its address once it answers."""
    port = _free_port()
    words = [str(python), "-m", "sglang.launch_server", "--model-path", str(model), "--port", str(port)]
    environment = {
        **os.environ,
        "SGLANG_USE_CPU_ENGINE": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": f"{CHECKOUT}:{KERNELS}",
    }
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*words, *shlex.split(ON_A_CPU), *flags],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            _wait_for(server, port, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait_for(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert server.poll() is None, f"the server ended:\n{log.read_text(errors='replace')[-3000:]}"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=20) as answer:
                json.load(answer)
                return
        except (urllib.error.URLError, OSError, ValueError):
            time.sleep(1)
    raise AssertionError(f"the server did not answer in {START_SECONDS} s:\n{log.read_text(errors='replace')[-3000:]}")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
