"""An answer, put together from the pieces of a stream; cut unless it says why it ended."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from extract.responding.troubles import Lasting, Passing, Trouble

LARGEST_ANSWER_CHARACTERS = 64 * 1024 * 1024
CUT_REASONS = frozenset({"error", "abort"})
"""What servers give as the reason when an answer ended for none of its own."""

LASTING_CODES = frozenset({400, 403, 404, 413, 422})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer: the assistant's message with every field that came, why it ended, what the server counted."""

    message: dict[str, Any]
    finish_reason: str
    usage: dict[str, Any] | None
    served_model: str
    response_id: str

    @property
    def is_truncated(self) -> bool:
        """Whether it ended because it was as long as allowed."""
        return self.finish_reason == "length"

    @property
    def is_refusal(self) -> bool:
        """Whether the model or a filter of the server declined."""
        return self.finish_reason == "content_filter" or bool(self.message.get("refusal"))

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was said."""
        said = ("content", "reasoning_content", "tool_calls", "refusal")
        return not any(self.message.get(name) for name in said)


@dataclass(slots=True)
class Assembly:
    """The pieces so far. Feed it events of a stream, or the one object of a server that does not stream."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    tool_calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    finish_reason: str = ""
    usage: dict[str, Any] | None = None
    served_model: str = ""
    response_id: str = ""
    received_bytes: int = 0

    def add(self, text: str) -> None:
        """Take in one event; Trouble when it is none, or tells of an error."""
        try:
            event = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.cut("a piece of the answer is no JSON") from error
        if not isinstance(event, dict):
            raise self.cut("a piece of the answer is no JSON object")
        if event.get("error"):
            raise self._told(event["error"])
        self._note(event)
        for choice in self._choices(event):
            delta = choice.get("delta", choice.get("message"))
            self._add_piece(delta if isinstance(delta, dict) else {})
            if isinstance(choice.get("finish_reason"), str):
                self.finish_reason = choice["finish_reason"]

    def answer(self) -> Answer:
        """Return the whole answer once its stream has ended; Passing when it does not say why it ended."""
        if not self.finish_reason:
            raise self.cut("the answer was cut: its stream ended without a reason")
        if self.finish_reason in CUT_REASONS:
            raise self.cut(f"the server broke the answer off ({self.finish_reason})")
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.content)}
        if self.reasoning:
            message["reasoning_content"] = "".join(self.reasoning)
        if self.refusal:
            message["refusal"] = "".join(self.refusal)
        if self.tool_calls:
            message["tool_calls"] = [self.tool_calls[number] for number in sorted(self.tool_calls)]
        return Answer(
            message=message,
            finish_reason=self.finish_reason,
            usage=self.usage,
            served_model=self.served_model,
            response_id=self.response_id,
        )

    def cut(self, reason: str) -> Passing:
        """Return the trouble of an answer that is not whole. A token is a byte at least: no more were lost."""
        return Passing(reason, lost_tokens=self.received_bytes)

    def _note(self, event: Mapping[str, Any]) -> None:
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        if isinstance(event.get("model"), str):
            self.served_model = event["model"]
        if isinstance(event.get("id"), str):
            self.response_id = event["id"]

    def _choices(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        choices = event.get("choices") or []
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise self.cut("a piece of the answer has no list of choices")
        return [choice for choice in choices if choice.get("index", 0) == 0]  # one answer was asked for

    def _add_piece(self, delta: Mapping[str, Any]) -> None:
        thought = delta.get("reasoning_content")
        pieces = (
            (self.content, delta.get("content")),
            (self.reasoning, delta.get("reasoning") if thought is None else thought),  # some send both, some either
            (self.refusal, delta.get("refusal")),
        )
        for parts, piece in pieces:
            if piece is None or piece == "":
                continue
            if not isinstance(piece, str):
                raise self.cut("a piece of the answer is no text")
            self._require_open()
            parts.append(piece)
            self._count(piece)
        for call in delta.get("tool_calls") or ():
            self._require_open()
            self._add_call(call)

    def _require_open(self) -> None:
        if self.finish_reason:
            raise self.cut("the answer goes on behind its end")

    def _count(self, piece: str) -> None:
        try:
            self.received_bytes += len(piece.encode())
        except UnicodeEncodeError as error:
            raise self.cut("a piece of the answer holds half of a surrogate pair") from error
        if self.received_bytes > LARGEST_ANSWER_CHARACTERS:
            raise Lasting("the answer does not end", lost_tokens=self.received_bytes)

    def _add_call(self, call: object) -> None:
        if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
            raise self.cut("a piece of a tool call is none")
        number = call.get("index", len(self.tool_calls))
        if not isinstance(number, int):
            raise self.cut("a piece of a tool call has no number")
        made = self.tool_calls.setdefault(
            number, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        made["id"] = call.get("id") or made["id"]
        for name in ("name", "arguments"):
            piece = call["function"].get(name)
            if isinstance(piece, str):
                made["function"][name] += piece
                self._count(piece)

    def _told(self, error: object) -> Trouble:
        """Return the trouble that a stream tells of after it had begun with 200."""
        code = error.get("code") if isinstance(error, dict) else None
        message = error.get("message") if isinstance(error, dict) else error
        status = code if isinstance(code, int) else 0
        kind = Lasting if status in LASTING_CODES else Passing
        return kind(f"the server reports: {message}", status=status, lost_tokens=self.received_bytes)
