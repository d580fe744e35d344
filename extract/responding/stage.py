"""Responding as a stage of the pipeline: room promised, the set announced, grown and sealed."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import timedelta

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact, ArtifactKind, Reservation, RunState
from artifactctl.domain.artifacts import Run as RunRecord
from artifactctl.domain.errors import Busy
from extract.responding.asking import Asker
from extract.responding.lines import VolumeFull
from extract.responding.outcome import Responded, usage_payload
from extract.responding.prompts import Prompt, read_prompts, short_key
from extract.responding.run import Hole, Run
from extract.responding.spending import Budget
from extract.responding.standing import announced, sealed_at, standing
from extract.responding.stopping import Stop, Stopping, signals_noted
from extract.responding.wanting import Tally, Wanted, tally_of
from extract.responding.workplace import JOURNAL, MANIFEST, RESPONSES, Workplace, require_ours

LONGEST_RUN = timedelta(days=7)
PROMISED_FOR = timedelta(days=1)
"""How long room is promised: a killed run cannot give it back, and answers grow slowly."""

MOST_LISTED = 1000
"""Holes beyond are in `unanswered.ndjson` only."""

_BYTES_A_TOKEN = 5
_BYTES_A_RECORD = 1024
_ROOM_FOR_LISTS = 1024 * 1024

Progress = Callable[[int, int], None]
"""progress(prompts that are through, tokens that they took)."""


def respond(session: Session, wanted: Wanted, progress: Callable[[int], Progress]) -> Responded:
    """Ask what is not answered yet, and seal the set when nothing is missing.

    `progress` is given how many prompts are to be asked, and returns what hears of each. UsageError, Refused and Busy
    before anything is asked.
    """
    session.require_place(wanted.out)
    sealed = sealed_at(session, wanted.out)
    if sealed is not None:
        return standing(sealed, wanted)
    require_ours(wanted.out)
    parents = sorted({source.artifact for source in wanted.sources if source.artifact})
    with ExitStack() as held:
        if parents:
            held.enter_context(session.lease(parents, until=session.now + LONGEST_RUN))
        tally = tally_of(wanted)
        building = announced(session, wanted, parents)
        workplace = Workplace(wanted.out, wanted.settings)
        held.callback(workplace.close)
        return _Stage(session, wanted, workplace, tally, building, parents).run(progress)


class _Stage:
    """One run of the stage, from the promise of room to the seal."""

    def __init__(
        self,
        session: Session,
        wanted: Wanted,
        workplace: Workplace,
        tally: Tally,
        building: Artifact,
        parents: list[str],
    ) -> None:
        self._session = session
        self._wanted = wanted
        self._workplace = workplace
        self._tally = tally
        self._artifact = building
        self._parents = parents
        self._holes: list[Hole] = []
        self._hole_count = 0
        self._begun_bytes = workplace.size_bytes
        self._pending_keys = tally.keys - workplace.answered

    def run(self, progress: Callable[[int], Progress]) -> Responded:
        session, workplace = self._session, self._workplace
        begun_at, spent_before = session.now, workplace.usage.total_tokens
        cost_before = workplace.usage.cost_usd(self._wanted.prices)
        state, answered, stop = RunState.FAILED, 0, None
        room = self._reserved()
        record = session.start_run("respond", inputs=self._parents)
        workplace.note({"run": {"begun_at": begun_at.isoformat(), "server": self._wanted.endpoint.url}})
        try:
            answered, stop = asyncio.run(self._ask(room, progress(len(self._pending_keys))))
            self._restate(record)
            if stop is None and self._may_seal:
                self._seal()
                state = RunState.SUCCEEDED
        finally:
            cost = workplace.usage.cost_usd(self._wanted.prices)
            session.finish_run(record, state=state, cost_usd=None if cost is None else float(cost - (cost_before or 0)))
            if room is not None:
                session.release(room)
        return Responded(
            artifact=self._artifact,
            tally=self._tally,
            usage=workplace.usage,
            answered_now=answered,
            unanswered=self._unanswered,
            tried=self._hole_count,
            holes=tuple(self._holes),
            seconds=(session.now - begun_at).total_seconds(),
            tokens_now=workplace.usage.total_tokens - spent_before,
            stop=stop,
        )

    async def _ask(self, room: Reservation | None, progress: Progress) -> tuple[int, Stop | None]:
        """Ask what is pending; return how many answers came, and why it stopped early."""
        wanted = self._wanted
        for unreadable in self._tally.unreadable:
            self._leave(Hole(source=unreadable.source, line=unreadable.line, prompt_key="", reason=unreadable.problem))
        stopping = Stopping()
        asker = Asker(
            wanted.endpoint,
            wanted.key,
            silence=wanted.silence,
            connections=wanted.concurrency,
            now=lambda: self._session.now,
        )
        async with asker:
            run = Run(
                asker=asker,
                workplace=self._workplace,
                settings=wanted.settings,
                budget=Budget(wanted.budget_tokens, spent=self._workplace.usage.total_tokens),
                patience=wanted.patience,
                key=wanted.key,
                stopping=stopping,
                now=lambda: self._session.now,
                progress=progress,
                on_hole=self._leave,
                on_sync=lambda: self._tell_filled(room),
            )
            try:
                with signals_noted(stopping):
                    await run.through(self._pending(), concurrency=wanted.concurrency)
            finally:
                with suppress(VolumeFull):  # then that is what the run ended with, and is said
                    self._workplace.note({"run_ended": {"at": self._session.now.isoformat(), "answered": run.answered}})
                run.sync()
        return run.answered, stopping.stop

    def _pending(self) -> Iterator[Prompt]:
        """Yield the prompts without an answer, each once."""
        for prompt in read_prompts(self._wanted.sources, self._wanted.settings):
            if isinstance(prompt, Prompt) and short_key(prompt.key) in self._pending_keys:
                self._pending_keys.remove(short_key(prompt.key))
                yield prompt

    def _leave(self, hole: Hole) -> None:
        self._workplace.note_hole(hole.as_json())
        self._hole_count += 1
        if len(self._holes) < MOST_LISTED:
            self._holes.append(hole)

    @property
    def _unanswered(self) -> int:
        return len(self._tally.keys - self._workplace.answered) + len(self._tally.unreadable)

    @property
    def _may_seal(self) -> bool:
        """Whether nothing is missing, or what is missing was accepted; a set of no answers is none."""
        accepted = self._wanted.accept_holes or not self._unanswered
        return accepted and self._workplace.usage.answers > 0

    def _restate(self, run: RunRecord) -> None:
        """Tell the catalog how many prompts are without an answer: holes are visible while the set grows."""
        labels = {"server_model": self._wanted.settings.model, "unanswered": str(self._unanswered)}
        self._artifact = self._session.register(
            self._wanted.out, kind=ArtifactKind.RESPONSE_SET, labels=labels, run=run
        )

    def _seal(self) -> None:
        usage = self._workplace.usage
        totals = {
            "prompts": self._tally.prompts,
            "unanswered": self._unanswered,
            "truncated": usage.truncated,
            "refused": usage.refused,
            "empty": usage.empty,
            "usage": usage_payload(usage, self._wanted.prices),
        }
        self._workplace.publish(self._wanted.settings, totals)
        # The server counted each conversation with the model's own tokenizer and template.
        tokens = None if usage.uncounted else usage.prompt_tokens + usage.completion_tokens
        self._artifact = self._session.seal(self._artifact, records=usage.answers, tokens=tokens)

    def _reserved(self) -> Reservation | None:
        """Have the room promised that the answers take at most; None where nothing is to be asked."""
        pending = len(self._pending_keys)
        if not pending:
            return None
        tokens = pending * self._wanted.settings.max_tokens
        if self._wanted.budget_tokens is not None:
            tokens = min(tokens, self._wanted.budget_tokens)
        records_bytes = pending * _BYTES_A_RECORD + self._tally.size_bytes
        return self._session.reserve(
            self._wanted.out,
            reserved_bytes=tokens * _BYTES_A_TOKEN + records_bytes + _ROOM_FOR_LISTS,
            files=len((RESPONSES, JOURNAL, MANIFEST)) + 1,
            purpose=f"responses of {self._wanted.settings.model}",
            until=self._session.now + PROMISED_FOR,
        )

    def _tell_filled(self, room: Reservation | None) -> None:
        if room is not None and self._session.now < room.expires_at:
            filled = min(self._workplace.size_bytes - self._begun_bytes, room.reserved_bytes)
            with suppress(Busy):  # it is told again in some seconds
                self._session.fill(room, filled_bytes=filled)
