"""What a record may look like, and what is said of one that cannot be understood."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from extract.merging.conversations import Conversation, Tokenised, UnreadableRecord, parse

USER, ANSWER = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}


def _nested(depth: int) -> list[Any]:
    """Return lists in lists, too deep to be written."""
    outer: list[Any] = []
    for _ in range(depth):
        outer = [outer]
    return outer


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [USER, ANSWER]},
        {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]},
        {"conversations": [{"from": "user", "value": "q"}, {"from": "assistant", "value": "a"}], "id": "x"},
        {"conversations": [USER, ANSWER]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}, ANSWER]},
        {"messages": [USER, ANSWER], "conversations": None, "input_ids": None, "tools": None},
    ],
    ids=["openai", "sharegpt", "sharegpt with other speakers", "messages under the other key", "parts", "nulls"],
)
def test_the_forms_of_one_conversation(record: dict[str, Any]) -> None:
    assert parse(record) == Conversation(messages=(USER, ANSWER))


def test_what_a_template_may_use_stays_with_its_message() -> None:
    said = parse({"messages": [USER, {**ANSWER, "reasoning_content": "because", "weight": None}], "tools": [{"n": 1}]})

    assert isinstance(said, Conversation)
    assert said.messages[1] == {**ANSWER, "reasoning_content": "because"}
    assert said.tools == [{"n": 1}]


@pytest.mark.parametrize(
    ("record", "mask"),
    [
        ({"input_ids": [5, 6, 7], "loss_mask": [0, 1, 1]}, b"\0\1\1"),
        ({"input_ids": [5, 6, 7], "labels": [-100, -100, 7]}, b"\0\0\1"),
        ({"input_ids": [5, 6, 7], "loss_mask": [False, True, True]}, b"\0\1\1"),
        ({"input_ids": [5, 6, 7], "loss_mask": None, "labels": [-100, -100, 7]}, b"\0\0\1"),
    ],
    ids=["mask", "labels", "booleans", "labels beside a mask that is null"],
)
def test_token_ids_come_with_a_mask(record: dict[str, Any], mask: bytes) -> None:
    assert parse(record) == Tokenised(ids=[5, 6, 7], mask=mask)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({}, "neither `conversations` nor `messages` nor `input_ids`"),
        ({"messages": "hello"}, "`messages` are no list"),
        ({"messages": ["hello"]}, "a message has no role"),
        ({"messages": [{"role": "user"}]}, "a message has no content"),
        ({"messages": [{"role": "user", "content": 5}]}, "is no text"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "'image_url', not text"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "half of a surrogate pair"),
        ({"messages": [{**USER, "role": "\ud800"}]}, "half of a surrogate pair"),
        ({"messages": [{**USER, "name": "\udc00"}]}, "half of a surrogate pair"),
        ({"messages": [USER, {**ANSWER, "tool_calls": [{"id": "\udc00"}]}]}, "half of a surrogate pair"),
        ({"messages": [USER], "tools": [{"name": "\udc00"}]}, "half of a surrogate pair"),
        ({"messages": [{**USER, "at": datetime(2026, 1, 1, tzinfo=UTC)}]}, "JSON cannot hold what is in it: Object of"),
        ({"messages": [{**USER, "image": b"\xff"}]}, "JSON cannot hold what is in it: Object of type bytes"),
        ({"messages": [{**USER, "score": math.nan}]}, "JSON cannot hold what is in it"),
        ({"messages": [{**USER, "nested": _nested(100_000)}]}, "JSON cannot hold what is in it"),
        ({"input_ids": [2**31], "loss_mask": [1]}, "no list of numbers from zero up"),
        ({"input_ids": [1, 2], "labels": [-100, None]}, "`labels` are no list of numbers"),
        ({"input_ids": None, "messages": None, "conversations": None}, "neither `conversations` nor"),
        ({"messages": [USER], "tools": {}}, "`tools` are no list"),
        ({"conversations": [{"from": "narrator", "value": "x"}]}, "from 'narrator'"),
        ({"conversations": [{"from": "human", "value": None}]}, "the value of a turn is no text"),
        ({"conversations": [3]}, "a turn is no object"),
        ({"input_ids": [1.5], "loss_mask": [1]}, "no list of numbers"),
        ({"input_ids": [True], "loss_mask": [1]}, "no list of numbers"),
        ({"input_ids": [-1], "loss_mask": [1]}, "no list of numbers"),
        ({"input_ids": [1, 2], "loss_mask": [1]}, "2 token ids and a mask of 1"),
        ({"input_ids": [1], "loss_mask": [2]}, "something other than 0 and 1"),
        ({"input_ids": [1]}, "neither `loss_mask` nor `labels`"),
    ],
)
def test_what_cannot_be_understood_is_said(record: dict[str, Any], said: str) -> None:
    with pytest.raises(UnreadableRecord) as refused:
        parse(record)

    assert said in str(refused.value)
