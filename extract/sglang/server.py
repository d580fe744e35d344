"""One server with its spool: how much it may be asked for at a time, and one attempt at one record."""

import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from artifactctl.api.formats import ElementType
from artifactctl.domain.errors import Busy, Refused
from extract.sglang.attempts import AttemptFailed, Received, require_whole
from extract.sglang.client import ServerClient
from extract.sglang.receiving import take
from extract.sglang.replies import require_prefilled, states_of
from extract.sglang.settings import ServerSettings
from extract.sglang.spool import Spool
from extract.shards.form import StatesForm

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RECORD_OVERHEAD_BYTES = 4096
_PAUSE_SECONDS = 1.0
_MOST_FORGOTTEN = 256

Collect = Callable[[], tuple[Received, ElementType]]


@dataclass(slots=True, kw_only=True, eq=False)
class Server:
    """A server in use. Only the thread that hands out records changes its counts.

    One that is silent is asked for one record at a time, at intervals, and is gone after `patience_seconds` of it.
    """

    client: ServerClient
    settings: ServerSettings
    captured: int
    at_once: int
    patience_seconds: float
    resources: ExitStack = field(default_factory=ExitStack)
    spool: Spool | None = None
    element: ElementType = ElementType.BF16
    asked: int = 0
    asked_bytes: int = 0
    forgotten: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_FORGOTTEN))
    silent_since: float | None = None
    next_try: float = 0.0

    @property
    def url(self) -> str:
        """Where it is."""
        return self.client.url

    @property
    def is_silent(self) -> bool:
        """Whether it did not answer the last time."""
        return self.silent_since is not None

    @property
    def is_gone(self) -> bool:
        """Whether it has been silent for too long to be asked again."""
        return self.silent_since is not None and self.next_try - self.silent_since > self.patience_seconds

    def heard(self) -> None:
        """Note that it answered, whatever it said."""
        self.silent_since = None

    def fell_silent(self) -> None:
        """Note that it did not answer."""
        now = time.monotonic()
        self.silent_since = self.silent_since or now
        self.next_try = now + _PAUSE_SECONDS

    def take_on(self, size_bytes: int) -> None:
        """Count a record that it is asked for; what came too late for others gives its room back before."""
        if self.spool is not None:
            for request in self.forgotten:
                self.spool.remove(request)
        self.asked, self.asked_bytes = self.asked + 1, self.asked_bytes + size_bytes

    def let_go(self, size_bytes: int) -> None:
        """Count a record off again."""
        self.asked, self.asked_bytes = self.asked - 1, self.asked_bytes - size_bytes

    def open_spool(self) -> None:
        """Become the reader of its spool; Busy when another extraction reads it, Refused when it cannot be read."""
        if self.settings.hook is None:
            return
        self.spool = Spool(self.settings.hook.spool, self.settings.hook.limit_bytes)
        try:
            alone = self.resources.enter_context(self.spool.read_alone())
        except OSError as error:
            raise Refused(
                f"the spool {self.spool.folder} of {self.url} cannot be read here: {error.strerror}",
                remedy="run this on the server's machine, as the server's user",
            ) from error
        if not alone:
            raise Busy(
                f"another extraction reads the spool {self.spool.folder} of {self.url}",
                remedy="wait for it, or give every extraction servers of its own",
            )

    def has_room(self, size_bytes: int) -> bool:
        """Whether it may be asked for a record of this size beside what it was asked for."""
        if self.is_gone or (self.is_silent and (self.asked or time.monotonic() < self.next_try)):
            return False
        fits = self.spool is None or self.asked_bytes + size_bytes <= self.spool.limit_bytes
        return self.asked < self.at_once and fits

    def could_hold(self, size_bytes: int) -> bool:
        """Whether such a record fits when nothing else is asked for."""
        return self.spool is None or size_bytes <= self.spool.limit_bytes

    def request_id(self, name: str) -> str:
        """Return the id of a request. A hook that nobody reads leaves requests alone that do not begin like ours."""
        return f"artifactctl-{name}" if self.spool is not None else f"without-hook-{name}"

    def ask(self, request: str, token_ids: "NDArray[Any]") -> Collect:
        """Run a record, and return what fetches its states; AttemptFailed. Called in a thread of its own.

        What is fetched is fetched by whoever hands on the states, so that they are in memory one record at a time.
        """
        reply = self.client.generate(request, token_ids.tolist(), with_states=self.spool is None)
        meta = require_prefilled(reply, len(token_ids))
        spool = self.spool
        if spool is not None:
            return lambda: take(spool, request)
        return lambda: (states_of(meta, self.captured), ElementType.BF16)

    def forget(self, request: str) -> None:
        """Remove what came of an attempt that failed, now and when it comes later: the server may still be at it."""
        if self.spool is not None:
            self.spool.remove(request)
            self.forgotten.append(request)

    def close(self) -> None:
        """Break off what is under way and let the spool go."""
        self.client.break_off()
        self.resources.close()


def record_bytes(tokens: int, form: StatesForm) -> int:
    """Return what a record takes in a spool at most, its header included."""
    return tokens * (form.row_bytes + 4) + _RECORD_OVERHEAD_BYTES


def fetch(collect: Collect, token_ids: "NDArray[Any]", form: StatesForm) -> Received:
    """Return the states of an attempt that was answered, whole; AttemptFailed."""
    received, element = collect()
    if element is not form.element:
        raise AttemptFailed(f"the states are {element} instead of {form.element}", again=False)
    require_whole(received, token_ids, form)
    return received
