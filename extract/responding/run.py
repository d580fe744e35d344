"""The run itself: some requests at a time, each until it is answered, refused, or out of attempts.

A prompt is taken, its most tokens are set aside, it is asked, and its record is on disk before the next one is taken by
the same worker. What is in flight when the run stops has some seconds to end; what has not is asked again by the next
run. A server that lets many prompts in a row down is not asked for the rest.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from extract.credentials import Key
from extract.responding.answers import Answer
from extract.responding.lines import VolumeFull
from extract.responding.patience import Patience
from extract.responding.prompts import Prompt
from extract.responding.records import record_of
from extract.responding.settings import Settings
from extract.responding.spending import Budget, count_of, spent_on
from extract.responding.stopping import Stop, Stopping, StopReason
from extract.responding.troubles import Barred, Passing, Trouble
from extract.responding.workplace import Workplace

SYNC_EVERY_SECONDS = 5.0
LONGEST_FAREWELL = timedelta(seconds=20)
"""How long requests in flight may take to end after a signal; schedulers kill after thirty seconds."""

FEWEST_LET_DOWN, MOST_LET_DOWN = 20, 200
"""So many prompts in a row without an answer mean the server, not the prompts: fewer before it has ever answered."""


class Asks(Protocol):
    """What asks a server: the whole answer to one request, or a Trouble."""

    async def ask(self, body: dict[str, Any]) -> Answer:
        """Return the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """A prompt without an answer; `prompt_key` is "" where it could not be read, `status` 0 without an HTTP status."""

    source: str
    line: int
    prompt_key: str
    reason: str
    record_id: str | int | None = None
    status: int = 0
    attempts: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in the list of holes."""
        return {
            "source": self.source,
            "line": self.line,
            "id": self.record_id,
            "prompt_key": self.prompt_key or None,
            "reason": self.reason,
            "status": self.status or None,
            "attempts": self.attempts,
        }


@dataclass(slots=True, kw_only=True)
class Run:
    """Everything that one run works with. `answered` and `holes` count what became of the prompts it took."""

    asker: Asks
    workplace: Workplace
    settings: Settings
    budget: Budget
    patience: Patience
    key: Key
    stopping: Stopping
    now: Callable[[], datetime]
    progress: Callable[[int, int], None]
    on_hole: Callable[[Hole], None]
    on_sync: Callable[[], None] = lambda: None
    answered: int = 0
    holes: int = 0
    _let_down: int = 0
    _synced_at: float = field(default_factory=time.monotonic)
    _resume_at: float = 0.0
    _settled: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def through(self, prompts: Iterator[Prompt], *, concurrency: int) -> None:
        """Ask every prompt, `concurrency` at a time, until all are asked or a stop is requested."""
        workers = [asyncio.create_task(self._work(prompts)) for _ in range(concurrency)]
        farewell = asyncio.create_task(self._farewell(workers))
        try:
            await asyncio.gather(*workers)
        except asyncio.CancelledError:
            if not self.stopping.requested:
                raise
        finally:
            for task in (farewell, *workers):
                task.cancel()
            await asyncio.gather(farewell, *workers, return_exceptions=True)

    async def _farewell(self, workers: "list[asyncio.Task[None]]") -> None:
        await self.stopping.signalled.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.at_once.wait(), timeout=LONGEST_FAREWELL.total_seconds())
        for worker in workers:
            worker.cancel()

    async def _work(self, prompts: Iterator[Prompt]) -> None:
        while not self.stopping.requested and (prompt := next(prompts, None)) is not None:
            try:
                await self._answer(prompt)
            except VolumeFull as full:
                self.stopping.request(Stop(reason=StopReason.SPACE, message=full.message, remedy=full.remedy))

    async def _answer(self, prompt: Prompt) -> None:
        body = self.settings.body(prompt.messages, prompt.tools)
        for attempt in range(1, self.patience.attempts + 1):
            await self._wait_for_the_server()
            most = await self._reserved(prompt)
            if most is None:
                return
            try:
                answer = await self.asker.ask(body)
            except Trouble as trouble:
                self._count_lost(prompt, trouble, most)
                if not await self._goes_on(prompt, trouble, attempt):
                    return
            except asyncio.CancelledError:  # the farewell is over: what the server did meanwhile is not known
                self._count_lost(prompt, Passing("the run stopped", lost_tokens=self.settings.max_tokens), most)
                raise
            else:
                self._record(prompt, answer, most)
                return
            finally:
                async with self._settled:
                    self._settled.notify_all()

    async def _reserved(self, prompt: Prompt) -> int | None:
        """Return the tokens set aside for a request; None when the run stops, at the budget or otherwise."""
        async with self._settled:
            while not self.stopping.requested:
                most = self.budget.reserve(prompt_bytes=prompt.size_bytes, max_tokens=self.settings.max_tokens)
                if most is not None:
                    return most
                if not self.budget.is_in_use:
                    self.stopping.request(_budget_is_used(self.budget))
                    self._settled.notify_all()
                    return None
                await self._settled.wait()
        return None

    def _record(self, prompt: Prompt, answer: Answer, most: int) -> None:
        spent = spent_on(answer.usage, most=most)
        self.budget.settle(most, spent=spent)
        counted = count_of(answer.usage or {}, "prompt_tokens")
        if counted is not None:
            self.budget.learn(prompt_bytes=prompt.size_bytes, prompt_tokens=counted)
        record = record_of(prompt, answer, at=self.now(), tokens_at_most=most)
        self.workplace.record(record, self.key.hide(json.dumps(record, ensure_ascii=False, separators=(",", ":"))))
        self.answered += 1
        self._let_down = 0
        self.progress(1, spent)
        if time.monotonic() - self._synced_at >= SYNC_EVERY_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Make what is recorded durable, and tell who counts the bytes."""
        self.workplace.sync()
        self.on_sync()
        self._synced_at = time.monotonic()

    def _count_lost(self, prompt: Prompt, trouble: Trouble, most: int) -> None:
        lost = 0
        if trouble.lost_tokens is not None:
            lost = min(most, most - self.settings.max_tokens + trouble.lost_tokens)
            self.workplace.note_lost(prompt.key, lost, trouble.reason)
        self.budget.settle(most, spent=lost)

    async def _goes_on(self, prompt: Prompt, trouble: Trouble, attempt: int) -> bool:
        """Whether to ask again, after the wait; otherwise the prompt is a hole, or the run stops."""
        if isinstance(trouble, Barred):
            self.stopping.request(Stop(reason=StopReason.BARRED, message=trouble.reason, remedy=trouble.remedy))
            return False
        if isinstance(trouble, Passing) and attempt < self.patience.attempts:
            wait = self.patience.wait(attempt, asked=trouble.after)
            if trouble.after is not None:  # the others would be told the same
                self._resume_at = max(self._resume_at, time.monotonic() + trouble.after.total_seconds())
            await self.stopping.sleep(wait)
            return not self.stopping.requested
        self._leave(prompt, trouble, attempt)
        return False

    def _leave(self, prompt: Prompt, trouble: Trouble, attempts: int) -> None:
        hole = Hole(
            source=prompt.source,
            line=prompt.line,
            prompt_key=prompt.key,
            record_id=prompt.record_id,
            reason=trouble.reason,
            status=trouble.status,
            attempts=attempts,
        )
        self.holes += 1
        self.on_hole(hole)
        self.progress(1, 0)
        self._let_down += 1
        if self._let_down >= (MOST_LET_DOWN if self.workplace.usage.answers else FEWEST_LET_DOWN):
            self.stopping.request(
                Stop(
                    reason=StopReason.SERVER,
                    message=f"{self._let_down} prompts in a row got no answer, the last one because {trouble.reason}",
                    remedy="check --server and --model; then the same command goes on from here",
                )
            )

    async def _wait_for_the_server(self) -> None:
        while not self.stopping.requested and (left := self._resume_at - time.monotonic()) > 0:
            await self.stopping.sleep(timedelta(seconds=left))


def _budget_is_used(budget: Budget) -> Stop:
    return Stop(
        reason=StopReason.BUDGET,
        message=f"the next request could go beyond --budget-tokens: {budget.spent:,} are spent",
        remedy="the same command with a larger budget goes on from here",
    )
