"""The probe's calls over a conversation."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from artifactctl.hosts.calling import Unanswered
from artifactctl.hosts.probe.calls import CALLS
from artifactctl.hosts.probe.frames import Kind, WireFault, decoded, encoded
from artifactctl.hosts.probe.reports import raised
from artifactctl.hosts.wire.conversation import Conversation
from artifactctl.hosts.wire.question import Message, Question

PROMPT_SECONDS = 60.0
"""A prompt call that takes longer hangs, in a filesystem that does not answer for example."""

_ASK_AGAIN_SECONDS = 0.05


class OverWire:
    """`Calls` of an agent."""

    def __init__(self, conversation: Conversation, *, prompt_seconds: float = PROMPT_SECONDS) -> None:
        self._conversation = conversation
        self._prompt_seconds = prompt_seconds

    def ask(
        self,
        name: str,
        *arguments: Any,
        progress: Callable[..., None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        **options: Any,
    ) -> Any:
        """Return the one answer, once its trailer vouches for it."""
        answers = []
        with _Asking(self._conversation, _request(name, arguments, options, wants_progress=bool(progress))) as asking:
            asking.ends_at = time.monotonic() + self._prompt_seconds if CALLS[name].is_prompt else None
            for kind, payload in asking.messages(should_stop):
                if kind is Kind.PROGRESS and progress is not None:
                    progress(*asking.value(payload))
                elif kind is Kind.ANSWER:
                    answers.append(asking.value(payload))
            if len(answers) != 1:
                raise asking.unanswered(f"{len(answers)} answers came instead of one")
        return answers[0]

    def stream(self, name: str, *arguments: Any) -> Iterator[Any]:
        """Yield the items as they come; whoever takes them slowly makes the agent wait."""
        with _Asking(self._conversation, _request(name, arguments, {}, wants_progress=False)) as asking:
            for kind, payload in asking.messages(None):
                if kind is Kind.ITEMS:
                    yield from asking.value(payload)
                    asking.give_credit()


def _request(name: str, arguments: tuple[Any, ...], options: dict[str, Any], *, wants_progress: bool) -> bytes:
    asked = {"call": name, "arguments": arguments, "options": options, "wants_progress": wants_progress}
    return encoded(asked)


class _Asking:
    """A question from its beginning to its end; an end before the trailer tells the agent to stop."""

    def __init__(self, conversation: Conversation, request: bytes) -> None:
        self.ends_at: float | None = None
        self._conversation = conversation
        self._request = request
        self._question: Question
        self._is_over = False

    def __enter__(self) -> "_Asking":
        self._question = self._conversation.begin(self._request)
        return self

    def __exit__(self, *_: object) -> None:
        self._conversation.forget(self._question)
        if not self._is_over:
            with suppress(Unanswered):  # a lost link stops the agent as well
                self._conversation.send(Kind.STOP, self._question)

    def messages(self, should_stop: Callable[[], bool] | None) -> Iterator[Message]:
        """Yield what comes before the trailer; a failure is raised when the trailer has vouched for it."""
        failure: Exception | None = None
        told = False
        while True:
            if should_stop is not None and not told and should_stop():
                self._conversation.send(Kind.STOP, self._question)
                told = True
            message = self._question.next(self._patience(may_stop=should_stop is not None))
            if message is None:
                self._check_time()
                continue
            if message.kind is None:
                self._is_over = True
                raise self.unanswered(message.payload.decode())
            if message.kind is Kind.TRAILER:
                self._is_over = True
                break
            if message.kind is Kind.FAILURE:
                failure = raised(self.value(message.payload))
            else:
                yield message
        if failure is not None:
            raise failure

    def give_credit(self) -> None:
        """Let the agent send another batch."""
        self._question.batch_read()
        self._conversation.send(Kind.CREDIT, self._question)

    def _patience(self, *, may_stop: bool) -> float | None:
        """Return how long to wait for the next message; the channel itself notices silence."""
        if may_stop:
            return _ASK_AGAIN_SECONDS
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())

    def _check_time(self) -> None:
        if self.ends_at is not None and time.monotonic() >= self.ends_at:
            raise self.unanswered("it is there, but this took too long: a filesystem there may hang")

    def value(self, payload: bytes) -> Any:
        """Return what a message holds; Unanswered when that is nothing."""
        try:
            return decoded(payload)
        except WireFault as fault:
            raise self.unanswered(str(fault)) from fault

    def unanswered(self, reason: str) -> Unanswered:
        """Return what to raise when there is no answer after all."""
        return Unanswered(self._conversation.machine, reason, was_asked=True)
