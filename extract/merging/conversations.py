"""What a record says: a conversation (ShareGPT `conversations` or OpenAI `messages`), or token ids with a loss mask.

A field that is null is one that is not there, as in Parquet. A message keeps every field it came with
(`reasoning_content`, `tool_calls`), since a chat template may use them. A record may say that its last answer did not
come to its own end: by `finish_reason`, `truncated` or `refused`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHAREGPT_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}
CUT_REASONS = frozenset({"length", "content_filter"})
"""Reasons for the end of an answer that are not the model's own: no token that ends a turn was produced."""

IGNORED_LABEL = -100
"""The label of a token that is not learned, where a record has `labels` instead of `loss_mask`."""


LARGEST_ID = 2**31 - 1
"""Token ids are kept as int32."""


class UnreadableRecord(ValueError):
    """The record is none of the known forms; the message says in which way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages of at least `role` and `content`, and the tools that the template is told of, None without.

    `is_cut` says that the answer at the end did not come to its own end.
    """

    messages: tuple[dict[str, Any], ...]
    tools: list[Any] | None = None
    is_cut: bool = False

    @property
    def last_answer(self) -> dict[str, Any] | None:
        """The answer that it ends with; None when somebody else has the last word."""
        return self.messages[-1] if self.messages and self.messages[-1]["role"] == "assistant" else None

    @property
    def is_empty(self) -> bool:
        """Whether nobody says anything."""
        return not any(_says_something(message) for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenised:
    """Token ids [T], and a loss mask [T] of one byte each, 1 where a token is learned."""

    ids: list[int]
    mask: bytes


def parse(value: Mapping[str, Any]) -> Conversation | Tokenised:
    """Return what the record says; UnreadableRecord when it cannot be understood."""
    if value.get("input_ids") is not None:
        return _tokenised(value)
    if value.get("conversations") is not None:
        return _conversation(value, [_from_sharegpt(turn) for turn in _list(value, "conversations")])
    if value.get("messages") is not None:
        return _conversation(value, [_message(turn) for turn in _list(value, "messages")])
    raise UnreadableRecord("it has neither `conversations` nor `messages` nor `input_ids`")


def _conversation(value: Mapping[str, Any], messages: list[dict[str, Any]]) -> Conversation:
    tools = value.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise UnreadableRecord("its `tools` are no list")
    _require_text([messages, tools])
    is_cut = value.get("finish_reason") in CUT_REASONS or value.get("truncated") is True or value.get("refused") is True
    return Conversation(messages=tuple(messages), tools=tools or None, is_cut=is_cut)


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    turns = value[key]
    if not isinstance(turns, list):
        raise UnreadableRecord(f"its `{key}` are no list")
    return turns


def _from_sharegpt(turn: object) -> dict[str, Any]:
    if not isinstance(turn, dict):
        raise UnreadableRecord("a turn is no object")
    if "role" in turn:
        return _message(turn)
    speaker, text = turn.get("from"), turn.get("value")
    if not isinstance(speaker, str) or speaker not in SHAREGPT_ROLES:
        raise UnreadableRecord(f"a turn is from {speaker!r}, which is no known speaker")
    if not isinstance(text, str):
        raise UnreadableRecord("the value of a turn is no text")
    return {"role": SHAREGPT_ROLES[speaker], "content": text}


def _message(turn: object) -> dict[str, Any]:
    if not isinstance(turn, dict) or not isinstance(turn.get("role"), str):
        raise UnreadableRecord("a message has no role")
    content = turn.get("content")
    if content is None and not turn.get("tool_calls"):
        raise UnreadableRecord("a message has no content")
    if isinstance(content, list):
        content = "".join(_part(part) for part in content)
    if content is not None and not isinstance(content, str):
        raise UnreadableRecord("the content of a message is no text")
    kept = {key: item for key, item in turn.items() if item is not None}
    return {**kept, "content": content or ""}


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type") in ("text", None) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type") if isinstance(part, dict) else type(part).__name__
    raise UnreadableRecord(f"a part of a message is {kind!r}, not text")


def _require_text(said: object) -> None:
    """Return when it can be written as JSON in UTF-8, all fields included that only a template may look at."""
    try:
        json.dumps(said, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise UnreadableRecord("its text holds half of a surrogate pair") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableRecord(f"JSON cannot hold what is in it: {error}") from error


def _tokenised(value: Mapping[str, Any]) -> Tokenised:
    ids = value["input_ids"]
    if not isinstance(ids, list) or not all(type(token) is int and 0 <= token <= LARGEST_ID for token in ids):
        raise UnreadableRecord("its `input_ids` are no list of numbers from zero up")
    mask, labels = value.get("loss_mask"), value.get("labels")
    if mask is not None:
        if not isinstance(mask, list) or not all(item in (0, 1) for item in mask):
            raise UnreadableRecord("its `loss_mask` holds something other than 0 and 1")
        learned = bytes(int(item) for item in mask)
    elif labels is not None:
        if not isinstance(labels, list) or not all(type(label) is int for label in labels):
            raise UnreadableRecord("its `labels` are no list of numbers")
        learned = bytes(label != IGNORED_LABEL for label in labels)
    else:
        raise UnreadableRecord("it has `input_ids` and neither `loss_mask` nor `labels`")
    if len(learned) != len(ids):
        raise UnreadableRecord(f"it has {len(ids)} token ids and a mask of {len(learned)}")
    return Tokenised(ids=ids, mask=learned)


def _says_something(message: Mapping[str, Any]) -> bool:
    return bool(message["content"].strip() or message.get("reasoning_content") or message.get("tool_calls"))
