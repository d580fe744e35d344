"""One SGLang server over HTTP: a connection for each request, so that a broken one spoils no other."""

import http.client
import json
import socket
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from artifactctl.domain.errors import Refused, UsageError
from extract.credentials import NO_KEY, Key
from extract.sglang.attempts import AttemptFailed
from extract.sglang.replies import error_message, require_answered

_WITHOUT_RIGHT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_CONNECT_SECONDS = 10.0


class ServerClient:
    """Asks one server; its methods may be called from several threads."""

    def __init__(self, url: str, *, answer_seconds: float, key: Key = NO_KEY) -> None:
        """`answer_seconds` is how long a server may be silent within a request; `key` goes with each."""
        parts = urlsplit(url)
        try:
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:  # a port that is none
            self._host, self._port = "", None
        if parts.scheme not in ("http", "https") or not self._host or parts.query or parts.fragment:
            raise UsageError(f"`{url}` is not the address of a server", remedy="--server http://HOST:PORT")
        self.url = url.rstrip("/")
        self._secure = parts.scheme == "https"
        self._base = parts.path.rstrip("/")
        self._answer_seconds = answer_seconds
        self._key = key
        self._live: set[socket.socket] = set()
        self._guard = threading.Lock()

    def get(self, path: str) -> dict[str, Any]:
        """Return the answer to a question; AttemptFailed, Refused where the key is not the server's."""
        return self._ask("GET", path, None)

    def generate(self, request: str, token_ids: list[int], *, with_states: bool) -> dict[str, Any]:
        """Run one prompt and return the reply; AttemptFailed.

        One token is sampled and thrown away: a request for none comes back without states.
        """
        body = {
            "rid": request,
            "input_ids": token_ids,
            "sampling_params": {"max_new_tokens": 1, "temperature": 0},
            "return_hidden_states": with_states,
        }
        return self._ask("POST", "/generate", body)

    def break_off(self) -> None:
        """Break off what is under way; whoever waits for it gets AttemptFailed."""
        with self._guard:
            for each in self._live:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:  # the server closed it first
                    continue

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        make = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = make(self._host, self._port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
            opened = connection.sock
            opened.settimeout(self._answer_seconds)
            with self._guard:
                self._live.add(opened)
            try:
                content = None if body is None else json.dumps(body).encode()
                headers = {"Content-Type": "application/json", **self._key.headers()}
                connection.request(method, self._base + path, content, headers)
                response = connection.getresponse()
                status, answer = response.status, response.read()
            finally:
                with self._guard:
                    self._live.discard(opened)
        except (OSError, http.client.HTTPException) as error:
            raise AttemptFailed(f"{self.url} broke off: {_words(error)}", again=True, unheard=True) from error
        finally:
            connection.close()
        if status in _WITHOUT_RIGHT:
            said = self._key.hide(error_message(answer))
            raise Refused(
                f"{self.url} wants {'another' if self._key else 'a'} key: it answered {status}: {said}",
                remedy="give the server's --api-key with --key-file FILE or --key-env NAME",
            )
        if status != HTTPStatus.OK:
            answer = self._key.hide(answer.decode("utf-8", "replace")).encode()
        return require_answered(status, answer)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
