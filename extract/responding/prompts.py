"""Prompts: what is asked, each with the key by which it is known.

A prompt is OpenAI `messages`, ShareGPT `conversations` (both without an answer at their end: one that is there is left
away, and asked for anew) or `{"prompt": TEXT}`, `{"prompt": [MESSAGE...]}`, with `tools` and `id` where it has them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extract.merging.conversations import Conversation, UnreadableRecord, parse
from extract.merging.sources import Reading, Source
from extract.responding.settings import Settings

KEY_BYTES = 16
"""As much of a prompt key is kept in memory: two of a billion prompts share it with a chance of one in 10^20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt. `key` is 64 hex digits, `record_id` what its own record calls it, None where it does not."""

    key: str
    record_id: str | int | None
    messages: list[dict[str, Any]]
    tools: list[Any] | None
    source: str
    line: int

    @property
    def size_bytes(self) -> int:
        """How long its messages and tools are as UTF-8: no fewer than their tokens."""
        return len(_canonical([self.messages, self.tools]))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadablePrompt:
    """A record of which nobody can say what it asks."""

    source: str
    line: int
    problem: str


def read_prompts(sources: Sequence[Source], settings: Settings) -> Iterator[Prompt | UnreadablePrompt]:
    """Yield every prompt in order, also those that come twice; SourceTorn when a file does not end as it should."""
    for source in sources:
        for record in Reading(source).records():
            try:
                if record.value is None:
                    raise UnreadableRecord(record.problem)
                yield prompt_of(record.value, settings, source=source.label, line=record.line)
            except UnreadableRecord as problem:
                yield UnreadablePrompt(source=source.label, line=record.line, problem=str(problem))


def prompt_of(value: Mapping[str, Any], settings: Settings, *, source: str, line: int) -> Prompt:
    """Return the prompt that a record is; UnreadableRecord when it asks nothing."""
    said = parse(_as_messages(value))
    if not isinstance(said, Conversation):
        raise UnreadableRecord("it is token ids, and a chat takes messages")
    messages = list(said.messages)
    while messages and messages[-1]["role"] == "assistant":
        messages.pop()
    if not any(message["role"] in ("user", "tool") and message["content"].strip() for message in messages):
        raise UnreadableRecord("it asks nothing")
    try:
        key = prompt_key(messages, said.tools, settings)
    except ValueError as error:
        raise UnreadableRecord("it holds half of a surrogate pair, or a number that JSON has not") from error
    record_id = value.get("id")
    return Prompt(
        key=key,
        record_id=record_id if isinstance(record_id, (str, int)) and not isinstance(record_id, bool) else None,
        messages=messages,
        tools=said.tools,
        source=source,
        line=line,
    )


def prompt_key(messages: list[dict[str, Any]], tools: list[Any] | None, settings: Settings) -> str:
    """Return the identity of what is asked, 64 hex digits: the same on every machine and in every file."""
    return hashlib.sha256(_canonical([messages, tools, settings.as_json()])).hexdigest()


def short_key(key: str) -> bytes:
    """Return the part of a prompt key that is kept in memory."""
    return bytes.fromhex(key)[:KEY_BYTES]


def _as_messages(value: Mapping[str, Any]) -> Mapping[str, Any]:
    prompt = value.get("prompt")
    if prompt is None or "messages" in value or "conversations" in value:
        return value
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    return {"messages": prompt, "tools": value.get("tools")}


def _canonical(content: object) -> bytes:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()
