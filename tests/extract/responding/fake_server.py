"""A server of chat completions that misbehaves as real ones do: real sockets, real HTTP, one thread a connection.

What it does with a prompt is decided by the text of the last message: `acts[text]` are its answers to the first,
second, ... request for it; from then on, and for every other text, it answers well.
"""

import hashlib
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["Reply"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What came in."""

    text: str
    body: dict[str, Any]
    headers: dict[str, str]
    path: str
    at: float


@dataclass(slots=True)
class FakeServer:
    """The running server: `requests` in the order of arrival, `most_at_once` of them at the same time."""

    url: str = ""
    acts: dict[str, list[Act]] = field(default_factory=dict)
    otherwise: Act | None = None
    requests: list[Request] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def act_for(self, request: Request) -> Act:
        """Note the request and return what to do with it."""
        with self.lock:
            self.requests.append(request)
            acts = self.acts.get(request.text)
            return acts.pop(0) if acts else self.otherwise or well

    def times(self) -> Counter[str]:
        """Return how often each text was asked."""
        return Counter(request.text for request in self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an act answers with."""

    request: Request
    handler: BaseHTTPRequestHandler

    def headers(self, status: int, kind: str, **more: str) -> None:
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", kind)
        for name, value in more.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def whole(self, status: int, content: bytes, kind: str = "application/json", **more: str) -> None:
        self.headers(status, kind, Content_Length=str(len(content)), **more)
        self.handler.wfile.write(content)

    def begin(self) -> None:
        self.headers(200, "text/event-stream; charset=utf-8", Transfer_Encoding="chunked")

    def chunk(self, content: bytes) -> None:
        self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.handler.wfile.flush()

    def event(self, **content: Any) -> None:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "fake-large"}
        self.chunk(f"data: {json.dumps({**head, **content}, ensure_ascii=False)}\n\n".encode())

    def delta(self, finish_reason: str | None = None, **piece: Any) -> None:
        self.event(choices=[{"index": 0, "delta": piece, "finish_reason": finish_reason}])

    def done(self) -> None:
        self.chunk(b"data: [DONE]\n\n")
        self.end()

    def end(self) -> None:
        self.chunk(b"")

    def drop(self) -> None:
        """Close the connection in the middle of the body."""
        self.handler.close_connection = True
        self.handler.wfile.flush()
        self.handler.connection.shutdown(socket.SHUT_RDWR)

    def usage(self) -> dict[str, Any]:
        words = answer_to(self.request.text).split()
        prompt = len(self.request.text.split())
        return {"prompt_tokens": prompt, "completion_tokens": len(words), "total_tokens": prompt + len(words)}


def answer_to(text: str) -> str:
    """Return the good answer: the same for the same text."""
    return f"The answer to {text} is {hashlib.sha256(text.encode()).hexdigest()[:8]}.\u2028Café 日本 ✓"


def well(reply: Reply) -> None:
    """Answer as servers should, in pieces, with comments and usage."""
    answered(finish_reason="stop", content=answer_to(reply.request.text))(reply)


def answered(*, finish_reason: str, usage: bool = True, **fields: str) -> Act:
    """Return the act that streams the fields of a message, three characters at a time."""

    def act(reply: Reply) -> None:
        reply.begin()
        reply.chunk(b": PROCESSING\n\n")
        reply.delta(role="assistant", content="")
        for name, text in fields.items():
            for begin in range(0, len(text), 3):
                reply.delta(**{name: text[begin : begin + 3]})
        reply.delta(finish_reason)
        if usage:
            reply.event(choices=[], usage=reply.usage())
        reply.done()

    return act


def refused(status: int, message: str = "no", **headers: str) -> Act:
    """Return the act that answers with a status and an error as OpenAI words it."""
    return lambda reply: reply.whole(status, json.dumps({"error": {"message": message}}).encode(), **headers)


def busy_until(seconds: float) -> Act:
    """Return the act that answers 429 with an HTTP date so far ahead."""

    def act(reply: Reply) -> None:
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        refused(429, "slow down", Retry_After=format_datetime(until, usegmt=True))(reply)

    return act


def cut(reply: Reply) -> None:
    """Close the connection after half of the answer."""
    reply.begin()
    reply.delta(content="half of the")
    reply.drop()


def cut_behind_the_reason(reply: Reply) -> None:
    """Close the connection after the reason, before the end of the body."""
    reply.begin()
    reply.delta("stop", content="nearly all")
    reply.drop()


def ended_without_reason(reply: Reply) -> None:
    """End the stream properly, but say nowhere why."""
    reply.begin()
    reply.delta(content="half of the")
    reply.done()


def ended_by_closing(reply: Reply) -> None:
    """Send no [DONE], and a body whose end nothing tells."""
    reply.handler.close_connection = True
    reply.headers(200, "text/event-stream", Connection="close")
    event = {"choices": [{"index": 0, "delta": {"content": "all?"}, "finish_reason": "stop"}]}
    reply.handler.wfile.write(f"data: {json.dumps(event)}\n\n".encode())


def without_done(reply: Reply) -> None:
    """Answer well, without [DONE], the end told by the last chunk."""
    reply.begin()
    reply.delta(content=answer_to(reply.request.text))
    reply.delta("stop")
    reply.event(choices=[], usage=reply.usage())
    reply.end()


def not_streamed(reply: Reply) -> None:
    """Answer well, in one object."""
    message = {"role": "assistant", "content": answer_to(reply.request.text)}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    reply.whole(200, json.dumps({"model": "fake-large", "choices": choices, "usage": reply.usage()}).encode())


def malformed(reply: Reply) -> None:
    """Send an event that is no JSON."""
    reply.begin()
    reply.chunk(b'data: {"choices": [{"index": 0, "del\n\n')
    reply.done()


def malformed_whole(reply: Reply) -> None:
    """Send a JSON body that is none."""
    reply.whole(200, b'{"choices": [')


def wrong_type(reply: Reply) -> None:
    """Send a page, as gateways do."""
    reply.whole(200, b"<html>Log in</html>", "text/html")


def no_choices(reply: Reply) -> None:
    """Send a stream that never has a choice."""
    reply.begin()
    reply.event(choices=[])
    reply.done()


def two_choices(reply: Reply) -> None:
    """Answer well, and a second time under another number."""
    reply.begin()
    reply.event(
        choices=[
            {"index": 1, "delta": {"content": "another"}, "finish_reason": "stop"},
            {"index": 0, "delta": {"content": answer_to(reply.request.text)}, "finish_reason": None},
        ]
    )
    reply.delta("stop")
    reply.event(choices=[], usage=reply.usage())
    reply.done()


def answered_twice(reply: Reply) -> None:
    """Go on behind the end with the same answer again."""
    reply.begin()
    for _ in range(2):
        reply.delta("stop", content="the same")
    reply.done()


def error_in_the_stream(reply: Reply) -> None:
    """Begin with 200 and report an error then."""
    reply.begin()
    reply.delta(content="so far")
    reply.event(error={"code": 502, "message": "the provider is gone"})
    reply.done()


def aborted(reply: Reply) -> None:
    """End the answer for a reason that is none of its own."""
    answered(finish_reason="abort", content="so far")(reply)


def reset(reply: Reply) -> None:
    """Reset the connection."""
    reply.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reply.handler.connection.close()
    reply.handler.close_connection = True


def silent(seconds: float) -> Act:
    """Return the act that begins, says nothing for so long, and goes away."""

    def act(reply: Reply) -> None:
        reply.begin()
        reply.delta(content="one moment")
        time.sleep(seconds)
        reply.drop()

    return act


def slowly(seconds: float) -> Act:
    """Return the act that answers well over so long a time."""

    def act(reply: Reply) -> None:
        text = answer_to(reply.request.text)
        reply.begin()
        for begin in range(0, len(text), 8):
            time.sleep(seconds * 8 / len(text))
            reply.delta(content=text[begin : begin + 8])
        reply.delta("stop")
        reply.event(choices=[], usage=reply.usage())
        reply.done()

    return act


def quoting_the_key(status: int) -> Act:
    """Return the act that repeats what it was sent as the key."""
    return lambda reply: refused(status, f"not for {reply.request.headers.get('Authorization')}")(reply)


def calling_a_tool(reply: Reply) -> None:
    """Answer with a call of a tool, its arguments in pieces."""
    reply.begin()
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
    reply.delta(role="assistant", content=None, tool_calls=[first])
    for piece in ('{"city":', ' "Köln"}'):
        reply.delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}])
    reply.delta("tool_calls")
    reply.done()


@contextmanager
def fake_server(otherwise: Act | None = None) -> Iterator[FakeServer]:
    """Run the server until the end of the context."""
    state = FakeServer(otherwise=otherwise)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = Request(
                text=body["messages"][-1]["content"],
                body=body,
                headers=dict(self.headers),
                path=self.path,
                at=time.monotonic(),
            )
            act = state.act_for(request)
            with state.lock:
                state.at_once += 1
                state.most_at_once = max(state.most_at_once, state.at_once)
            try:
                act(Reply(request=request, handler=self))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # whoever asked has gone
            finally:
                with state.lock:
                    state.at_once -= 1

        def log_message(self, format: str, *arguments: Any) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            return

    with Server(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        serving.start()
        try:
            yield state
        finally:
            server.shutdown()
            serving.join()


def texts_of(records: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return question to answer of the records of a set."""
    return {record["messages"][-2]["content"]: record["messages"][-1]["content"] for record in records}
