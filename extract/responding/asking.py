"""One request over HTTP: a whole answer, or a `Trouble` that says what follows."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from artifactctl.domain.text import printable
from extract.credentials import Key
from extract.requirements import need
from extract.responding.answers import Answer, Assembly
from extract.responding.endpoint import Endpoint
from extract.responding.patience import LONGEST_ASKED_WAIT, retry_after
from extract.responding.troubles import Barred, Lasting, Passing, Trouble

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

CONNECT_SECONDS = 30.0
LONGEST_SAID = 300
_LARGEST_ERROR_BYTES = 16 * 1024
_LARGEST_EVENT_BYTES = 16 * 1024 * 1024
_DONE = "[DONE]"
_RETRIED = frozenset({408, 409, 425, 429})
_BARRED = {
    401: "give a key that is valid there, with --key-file or --key-env, and run the same command again",
    402: "pay the account there, and run the same command again",
    407: "log in to the proxy, or set NO_PROXY for this server, and run the same command again",
}


class Asker:
    """Asks one server; an async context manager that keeps its connections. `now` tells the time, aware UTC."""

    def __init__(
        self, endpoint: Endpoint, key: Key, *, silence: timedelta, connections: int, now: Callable[[], datetime]
    ) -> None:
        """Prepare to ask; `silence` is how long the server may say nothing."""
        self._http = need("httpx2", purpose="asking a server")
        self._endpoint = endpoint
        self._key = key
        self._now = now
        self._client: AsyncClient = self._http.AsyncClient(
            headers={"Accept": "text/event-stream, application/json", **key.headers()},
            timeout=self._http.Timeout(silence.total_seconds(), connect=CONNECT_SECONDS, pool=None),
            limits=self._http.Limits(max_connections=connections, max_keepalive_connections=connections),
            follow_redirects=False,  # the key goes to the server that was named, and to no other
        )

    async def __aenter__(self) -> "Asker":
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *ended: Any) -> None:
        await self._client.__aexit__(*ended)

    async def ask(self, body: Mapping[str, Any]) -> Answer:
        """Return the whole answer to one request; Passing, Lasting, Barred."""
        assembly = Assembly()
        content = json.dumps(body, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json"}
        try:
            async with self._client.stream("POST", self._endpoint.url, content=content, headers=headers) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                return await self._read(response, assembly)
        except Trouble as trouble:
            trouble.reason = self._short(trouble.reason)
            raise
        except (self._http.ConnectError, self._http.ConnectTimeout) as error:
            raise Passing(f"no connection: {self._said(error)}") from error
        except self._http.TimeoutException as error:
            raise self._broken(f"the server said nothing for too long ({type(error).__name__})", assembly) from error
        except self._http.RequestError as error:
            raise self._broken(f"the connection broke: {self._said(error)}", assembly) from error

    async def _read(self, response: "Response", assembly: Assembly) -> Answer:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":  # a server that does not stream
            assembly.add(await _text(response))
            return assembly.answer()
        if kind != "text/event-stream":
            raise Passing(f"the server answered {kind or 'something without a type'}, and no stream of events")
        ended = False
        async for event in self._http.EventSource(response, max_event_size=_LARGEST_EVENT_BYTES):
            if event.data.strip() == _DONE:
                ended = True
                break
            if event.data.strip():
                assembly.add(event.data)
        if not ended and not _tells_its_end(response):
            raise assembly.cut("the answer was cut: its stream has no end")
        return assembly.answer()

    async def _refusal(self, response: "Response") -> Trouble:
        status = response.status_code
        said = f"the server answered {status}: {_told(await _text(response, most=_LARGEST_ERROR_BYTES))}"
        if status in _BARRED:
            return Barred(said, status=status, remedy=_BARRED[status])
        if status not in _RETRIED and status < 500:
            return Lasting(said, status=status)
        after = retry_after(response.headers.get("retry-after"), now=self._now())
        if after is not None and after > LONGEST_ASKED_WAIT:
            return Lasting(f"{said} (and asks to come back in {after})", status=status)
        return Passing(said, status=status, after=after)

    def _broken(self, reason: str, assembly: Assembly) -> Passing:
        return Passing(reason, lost_tokens=assembly.received_bytes)

    def _said(self, error: Exception) -> str:
        return self._short(str(error)) or type(error).__name__

    def _short(self, text: str) -> str:
        """Return what was said as one short line, without the key that a server may have quoted."""
        line = printable(" ".join(self._key.hide(text).split()))
        return line if len(line) <= LONGEST_SAID else f"{line[:LONGEST_SAID]}..."


def _told(body: str) -> str:
    """Return the message in the body of an error, the body itself where it has none."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return body
    error = told.get("error", told.get("detail", told.get("message"))) if isinstance(told, dict) else told
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def _tells_its_end(response: "Response") -> bool:
    """Whether a body that ended too early would have been noticed: by chunks, or by its length."""
    return "transfer-encoding" in response.headers or "content-length" in response.headers


async def _text(response: "Response", *, most: int = _LARGEST_EVENT_BYTES * 4) -> str:
    """Return the body as text, no more of it than `most` bytes."""
    parts: list[bytes] = []
    length = 0
    async for chunk in response.aiter_bytes():
        parts.append(chunk)
        length += len(chunk)
        if length > most:
            break
    return b"".join(parts)[:most].decode("utf-8", "replace")
