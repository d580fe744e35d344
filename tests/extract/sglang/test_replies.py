"""Answers as they were recorded from a real server, and what is wrong with others."""

from typing import Any

import numpy as np
import pytest

from extract.sglang.attempts import AttemptFailed
from extract.sglang.replies import error_message, require_answered, require_prefilled, states_of

RECORDED = (
    b'{"output_ids":[457],"meta_info":{"id":"x1","finish_reason":{"type":"length","length":1},"prompt_tokens":3,'
    b'"weight_version":"default","num_retractions":0,"reasoning_tokens":0,"completion_tokens":1,"cached_tokens":0,'
    b'"weight_versions":[{"version":"default","start":0,"end":1}],"cached_tokens_details":null,"dp_rank":null,'
    b'"e2e_latency":0.2239,"response_sent_to_client_ts":1796075911.7053623}}'
)
TOO_LONG = b'{"error":{"message":"The input (3000 tokens) is longer than the model\'s context length (2048 tokens)."}}'


def meta(**changes: Any) -> dict[str, Any]:
    """Return what a good reply says of itself."""
    good = {"finish_reason": {"type": "length", "length": 1}, "prompt_tokens": 2, "cached_tokens": 0}
    return {**good, "hidden_states": [[[1.0, -2.5, 0.0, 8.0], [0.5, 3.0, -0.0, 1.0]]], **changes}


def test_a_recorded_reply_is_taken() -> None:
    found = require_prefilled(require_answered(200, RECORDED), 3)

    assert found["completion_tokens"] == 1


def test_a_recorded_refusal_is_told_in_the_servers_words_and_not_repeated() -> None:
    with pytest.raises(AttemptFailed, match=r"answered 400: The input \(3000 tokens\) is longer") as failed:
        require_answered(400, TOO_LONG)

    assert not failed.value.again


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "no such flag", "type": "x"}}', "no such flag"),
        (b'{"error": "Request body must be a JSON object."}', "Request body must be a JSON object."),
        (b'{"error": ["one", "two"]}', '["one", "two"]'),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b"Internal\n Server   Error", "Internal Server Error"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", "nothing"),
        (b"x" * 5000, "x" * 300),
    ],
)
def test_bodies_of_errors_of_every_form_are_read(body: bytes, message: str) -> None:
    assert error_message(body) == message


@pytest.mark.parametrize(("status", "again"), [(400, False), (404, False), (429, True), (500, True), (503, True)])
def test_what_may_pass_is_asked_again(status: int, *, again: bool) -> None:
    with pytest.raises(AttemptFailed) as failed:
        require_answered(status, b"{}")

    assert failed.value.again is again


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({}, "no meta_info"),
        ({"meta_info": meta(prompt_tokens=1)}, "ran 1 tokens instead of its 2"),
        ({"meta_info": meta(cached_tokens=1)}, "1 of its 2 tokens were cached.*--disable-radix-cache"),
        ({"meta_info": meta(num_retractions=1)}, "took the request back"),
        ({"meta_info": meta(finish_reason={"type": "abort", "message": "out of memory"})}, "gave .* up: out of memory"),
    ],
)
def test_a_reply_without_all_tokens_is_no_success(reply: dict[str, Any], reason: str) -> None:
    with pytest.raises(AttemptFailed, match=reason):
        require_prefilled(reply, 2)


def test_a_reply_of_many_requests_is_not_one() -> None:
    with pytest.raises(AttemptFailed, match="not that of one request"):
        require_answered(200, b"[]")


def test_states_come_back_as_the_bits_they_were() -> None:
    received = states_of(meta(), 2)

    first, second = received.layers
    np.testing.assert_array_equal(first, np.array([[0x3F80, 0xC020], [0x3F00, 0x4040]], "<u2"))
    np.testing.assert_array_equal(second, np.array([[0x0000, 0x4100], [0x8000, 0x3F80]], "<u2"))
    assert received.final is None


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        (None, "no hidden states"),
        ([], "no hidden states"),
        ([1.0], "no hidden states"),
        ([[[1.0, 2.0]]], r"\(1, 2\) came for 2 tokens.*--chunked-prefill-size -1"),
        ([[[1.0, 2.0], [1.0]]], "no rows of numbers"),
        ([[[1.0, 2.0, 3.0]] * 2], "2 layers"),
        ([[["a", "b"]] * 2], "no rows of numbers"),
        ([[[1.0, 0.1]] * 2], "not bf16"),
    ],
)
def test_states_that_are_short_ragged_or_of_another_type_are_refused(states: object, reason: str) -> None:
    with pytest.raises(AttemptFailed, match=reason):
        states_of(meta(hidden_states=states), 2)


def test_null_is_no_number() -> None:
    (layer,) = states_of(meta(hidden_states=[[[1.0, None], [0.0, 2.0]]]), 1).layers

    assert np.isnan((layer.astype("<u4") << 16).view("<f4")[0, 1])
