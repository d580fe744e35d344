"""Hands records to servers and takes what comes: bounded, with retries, and without the servers that fell silent."""

import heapq
import itertools
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from artifactctl.domain.errors import Refused
from extract.running.engine import CorpusRecord, Unable
from extract.sglang.attempts import AttemptFailed, Received
from extract.sglang.server import Collect, Server, fetch, record_bytes
from extract.shards.form import StatesForm

ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 0.25
_IDLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A record and what was tried for it so far."""

    record: CorpusRecord
    attempt: int = 0
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answered:
    """A record with its states."""

    record: CorpusRecord
    received: Received


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    task: Task
    server: Server
    request: str
    size_bytes: int


class Dispatch:
    """One pass over records. `name` begins the ids of its requests and is no other pass's."""

    def __init__(self, servers: Sequence[Server], form: StatesForm, name: str, *, vocabulary: int) -> None:
        self._servers = servers
        self._vocabulary = vocabulary
        self._form = form
        self._name = name
        self._later: list[tuple[float, int, Task]] = []
        self._held: Task | None = None
        self._under_way: dict[Future[Collect], _Asked] = {}
        self._numbers = itertools.count(1)
        self._pool = ThreadPoolExecutor(sum(server.at_once for server in servers), thread_name_prefix="sglang")

    def run(self, records: Iterator[CorpusRecord]) -> Iterator[Answered | Unable]:
        """Yield what came of each record, drawn when there is room for one; Refused when no server answers any more."""
        try:
            while True:
                yield from self._hand_out(records)
                if not (self._under_way or self._later or self._held):
                    return
                for future in self._finished():
                    outcome = self._outcome(future)
                    if outcome is not None:
                        yield outcome
        finally:
            self.break_off()

    def _hand_out(self, records: Iterator[CorpusRecord]) -> Iterator[Unable]:
        """Give the servers what they have room for; yield the records that none could ever take."""
        while (task := self._held or self._due() or self._drawn(records)) is not None:
            self._held = task
            size_bytes = record_bytes(task.record.tokens, self._form)
            refusal = self._refusal(task.record, size_bytes)
            if refusal:
                self._held = None
                yield Unable(index=task.record.index, reason=refusal)
                continue
            server = self._server_for(size_bytes)
            if server is None:
                return
            self._held = None
            request = server.request_id(f"{self._name}-{task.record.index}-{next(self._numbers)}")
            server.take_on(size_bytes)
            asked = _Asked(task=task, server=server, request=request, size_bytes=size_bytes)
            self._under_way[self._pool.submit(server.ask, request, task.record.token_ids)] = asked

    def _drawn(self, records: Iterator[CorpusRecord]) -> Task | None:
        alive = [server for server in self._servers if not server.is_gone]
        if alive and all(server.asked >= server.at_once for server in alive):
            return None
        record = next(records, None)
        return None if record is None else Task(record=record)

    def _due(self) -> Task | None:
        due = bool(self._later) and self._later[0][0] <= time.monotonic()
        return heapq.heappop(self._later)[2] if due else None

    def _refusal(self, record: CorpusRecord, size_bytes: int) -> str:
        servers = [server for server in self._servers if not server.is_gone]
        if not servers:
            raise Refused(
                f"none of the servers {', '.join(server.url for server in self._servers)} answers any more",
                remedy="start one again, then the same command: it goes on from here",
            )
        if not 0 <= int(record.token_ids.min()) <= int(record.token_ids.max()) < self._vocabulary:
            return f"a token id is beyond the model's vocabulary of {self._vocabulary}, which would end a server"
        if not any(server.could_hold(size_bytes) for server in servers):
            return f"it takes {size_bytes} bytes in a spool; give the hook a larger `limit_bytes`"
        longest = max(server.settings.longest_tokens or record.tokens for server in servers)
        return f"it has {record.tokens} tokens, the servers take {longest}" if record.tokens > longest else ""

    def _server_for(self, size_bytes: int) -> Server | None:
        free = [server for server in self._servers if server.has_room(size_bytes)]
        return min(free, key=lambda server: (server.is_silent, server.asked_bytes), default=None)

    def _finished(self) -> "Sequence[Future[Collect]]":
        if not self._under_way:
            time.sleep(_IDLE_SECONDS)
            return ()
        return tuple(wait(self._under_way, timeout=_IDLE_SECONDS, return_when=FIRST_COMPLETED).done)

    def _outcome(self, future: "Future[Collect]") -> Answered | Unable | None:
        """Return what came of an attempt that ended, None when the record is tried again."""
        asked = self._under_way.pop(future)
        record = asked.task.record
        outcome: Answered | Unable | None = None
        try:
            outcome = Answered(record=record, received=fetch(future.result(), record.token_ids, self._form))
            asked.server.heard()
        except AttemptFailed as failed:
            asked.server.forget(asked.request)
            if not self._is_put_back(asked, failed):
                outcome = Unable(index=record.index, reason=failed.reason, details=_history(asked.task.failures))
        finally:
            asked.server.let_go(asked.size_bytes)
        return outcome

    def _is_put_back(self, asked: _Asked, failed: AttemptFailed) -> bool:
        """Whether the record will be tried again; that a server is silent still counts against no record."""
        counts = not (failed.unheard and asked.server.is_silent)
        if failed.unheard:
            asked.server.fell_silent()
        else:
            asked.server.heard()
        attempt = asked.task.attempt + counts
        if not failed.again or attempt >= ATTEMPTS:
            return False
        failures = (*asked.task.failures, failed.reason) if counts else asked.task.failures
        due = time.monotonic() + _FIRST_PAUSE_SECONDS * 2**attempt
        task = replace(asked.task, attempt=attempt, failures=failures)
        heapq.heappush(self._later, (due, next(self._numbers), task))
        return True

    def break_off(self) -> None:
        """Let nothing go on after the pass: what is under way is broken off, and what came of it removed."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        while wait(self._under_way, timeout=_IDLE_SECONDS).not_done:
            for server in self._servers:
                server.client.break_off()
        for asked in self._under_way.values():
            asked.server.forget(asked.request)
            asked.server.let_go(asked.size_bytes)
        self._under_way.clear()


def _history(failures: tuple[str, ...]) -> dict[str, str]:
    return {f"attempt {number}": reason for number, reason in enumerate(failures, start=1)}
