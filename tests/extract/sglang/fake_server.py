"""A server as sglang 0.5.23 answers: real HTTP, the real hook on a small model, and faults on demand.

`server_info.json` is what a real one said (0.5.23 on a CPU), less the fields that nobody here reads. Replies and bodies
of errors have the form that a real one sent for the same requests.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

from extract.sglang.hook import capture_hidden_states
from extract.sglang.settings import FACTORY
from tests.extract.sglang.model_tree import CausalModel, prefill

RECORDED = json.loads((Path(__file__).parent / "server_info.json").read_bytes())


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong with a request."""

    status: int = 200
    body: bytes | None = None
    cached: int = 0
    chunk: int = 0
    nan: bool = False
    slow_seconds: float = 0
    cut: bool = False
    abort: str = ""
    loses_states: bool = False
    dies: bool = False


NOTHING = Fault()
FaultOf = Callable[[Mapping[str, Any], int], Fault | None]
"""From the request and how many came before it (probes not counted) to its fault."""


@dataclass(kw_only=True)
class FakeServer:
    """One server; a context manager. `faults` is asked for every request but those of the probe."""

    spool: Path | None = None
    hook_config: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    model: CausalModel = field(default_factory=CausalModel)
    faults: FaultOf = lambda request, number: None
    model_path: str = "/models/tiny"
    key: str = ""
    served: list[str] = field(default_factory=list)

    def __enter__(self) -> "FakeServer":
        config = {"spool": str(self.spool), "layers": [2, 4, 5], **self.hook_config}
        self._hooks = []
        if self.spool is not None:
            self._hooks = [{"name": "x", "target_modules": ["model"], "hook_factory": FACTORY, "config": config}]
            self.model.model.register_forward_hook(capture_hidden_states(config))
        self._turn = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening; what is slow is not waited for."""
        self._stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def is_stopped_within(self, seconds: float) -> bool:
        """Wait as long as a slow answer takes; whether the server is stopped meanwhile."""
        return self._stopping.wait(seconds)

    def server_info(self) -> dict[str, Any]:
        """Return what it says of itself."""
        return {**RECORDED, "model_path": self.model_path, "forward_hooks": self._hooks or None, **self.info}

    def allowed(self, authorization: str | None, status: int, body: bytes) -> tuple[int, bytes]:
        """Return the answer, or to whoever lacks its key a refusal that repeats what was given."""
        if self.key and authorization != f"Bearer {self.key}":
            return 401, json.dumps({"error": f"Unauthorized: {authorization}"}).encode()
        return status, body

    def fault_of(self, request: Mapping[str, Any]) -> Fault:
        """Return what goes wrong with a request."""
        if "-probe-" in request["rid"]:
            return NOTHING
        with self._turn:
            number = len(self.served)
            self.served.append(request["rid"])
        return self.faults(request, number) or NOTHING

    def body_of(self, request: Mapping[str, Any], fault: Fault) -> bytes:
        """Return the body of the answer to a request."""
        if fault.body is not None or fault.status != 200:
            return fault.body or b""
        return json.dumps(self.generate(request, fault)).encode()

    def generate(self, request: Mapping[str, Any], fault: Fault) -> dict[str, Any]:
        """Run one prompt as its scheduler would: one pass at a time, the hook within it."""
        ids, body = request["input_ids"], self.model.model
        rid = request["rid"] if not fault.loses_states else "somebody-else"
        with self._turn:
            body.broken_rows = {0} if fault.nan else set()
            batch = prefill([(rid, ids)], cached=fault.cached, chunk=fault.chunk)
            _, captured = self.model(batch)
            rows = torch.cat(captured, dim=-1).tolist()
            body.broken_rows = set()
        finish = {"type": "length", "length": 1}
        if fault.abort:
            finish = {"type": "abort", "message": fault.abort, "status_code": 503}
        meta = {
            "id": request["rid"],
            "finish_reason": finish,
            "prompt_tokens": len(ids),
            "weight_version": "default",
            "num_retractions": 0,
            "completion_tokens": 1,
            "cached_tokens": fault.cached,
        }
        if request["return_hidden_states"]:
            meta["hidden_states"] = [[[None if value != value else value for value in row] for row in rows]]
        return {"output_ids": [7], "meta_info": meta}


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/server_info":
                self._answer(200, json.dumps(server.server_info()).encode())
            elif self.path == "/model_info":
                self._answer(200, b'{"architectures": ["LlamaForCausalLM"]}')
            else:
                self._answer(404, b'{"detail":"Not Found"}')

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault = server.fault_of(request)
            if fault.dies:
                threading.Thread(target=server.stop).start()
                self.close_connection = True
                return
            if not server.is_stopped_within(fault.slow_seconds):
                self._answer(fault.status, server.body_of(request, fault), cut=fault.cut)

        def _answer(self, status: int, body: bytes, *, cut: bool = False) -> None:
            status, body = server.allowed(self.headers["Authorization"], status, body)
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if cut else body)
                self.close_connection = True
            except OSError:  # whoever asked has hung up
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler
