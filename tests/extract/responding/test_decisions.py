"""What is decided without a server: waits, budgets, keys of prompts, what an answer is."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifactctl.domain.errors import UsageError
from extract.responding.answers import Assembly
from extract.responding.lines import GrowingLines
from extract.responding.patience import Patience, retry_after
from extract.responding.prompts import prompt_key
from extract.responding.settings import Settings, differences, further_fields
from extract.responding.spending import Budget, Prices, Usage
from extract.responding.troubles import Lasting, Passing

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
SETTINGS = Settings(model="m", max_tokens=100)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", timedelta(seconds=7)),
        (" 120 ", timedelta(minutes=2)),
        ("Mon, 30 Nov 2026 12:00:09 GMT", timedelta(seconds=9)),
        ("Mon, 30 Nov 2026 12:00:09 -0000", timedelta(seconds=9)),
        ("Mon, 30 Nov 2026 11:00:00 GMT", timedelta(0)),
        ("99999999999999999999", timedelta(seconds=10**9)),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("", None),
        (None, None),
    ],
)
def test_a_wait_is_read_in_seconds_and_as_a_date(header: str | None, wait: timedelta | None) -> None:
    assert retry_after(header, now=NOW) == wait


def test_waits_double_up_to_the_longest_and_keep_to_what_the_server_asks() -> None:
    patience = Patience(first=timedelta(seconds=1), longest=timedelta(seconds=10), chance=lambda: 1.0)
    lucky = Patience(first=timedelta(seconds=1), chance=lambda: 0.0)

    assert [patience.wait(n, asked=None).total_seconds() for n in range(1, 6)] == [1, 2, 4, 8, 10]
    assert patience.wait(10_000, asked=None) == timedelta(seconds=10)
    assert lucky.wait(3, asked=None) == timedelta(0)
    assert lucky.wait(3, asked=timedelta(seconds=30)) == timedelta(seconds=30)


@given(
    st.lists(st.tuples(st.integers(1, 400), st.integers(1, 300), st.floats(0, 1)), max_size=40), st.integers(1, 3000)
)
def test_a_budget_is_never_exceeded_whatever_is_in_flight(requests: list[tuple[int, int, float]], limit: int) -> None:
    budget = Budget(limit, spent=0)
    flying: list[tuple[int, float]] = []
    for prompt_bytes, max_tokens, share in requests:
        most = budget.reserve(prompt_bytes=prompt_bytes, max_tokens=max_tokens)
        if most is None and flying:
            reserved, part = flying.pop(0)
            budget.settle(reserved, spent=int(reserved * part))
        elif most is not None:
            flying.append((most, share))
    for reserved, part in flying:
        budget.settle(reserved, spent=int(reserved * part))

    assert budget.spent <= limit
    assert not budget.is_in_use


def test_a_template_that_adds_much_is_allowed_for_once_it_was_seen() -> None:
    budget = Budget(1000, spent=0)
    first = budget.reserve(prompt_bytes=10, max_tokens=100)
    assert first == 10 + 64 + 100
    budget.settle(first, spent=600)
    budget.learn(prompt_bytes=10, prompt_tokens=500)

    assert budget.reserve(prompt_bytes=10, max_tokens=100) is None


def test_costs_are_those_of_the_prices_else_those_that_the_server_told() -> None:
    usage = Usage()
    usage.add({"usage": {"prompt_tokens": 1_000_000, "completion_tokens": 200_000, "cost": 0.25}})
    usage.add({"usage": {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0.05}})

    assert usage.cost_usd(Prices()) == Decimal("0.30")
    assert usage.cost_usd(Prices(prompt=Decimal("0.60"), answer=Decimal("2.50"))) == Decimal("1.10")
    assert Usage().cost_usd(Prices()) is None


def test_nonsense_in_the_usage_counts_as_no_count() -> None:
    usage = Usage()
    for nonsense in (None, {}, {"completion_tokens": "many"}, {"completion_tokens": -1}, {"completion_tokens": True}):
        usage.add({"usage": nonsense, "tokens_at_most": 10})

    assert (usage.answers, usage.uncounted, usage.total_tokens) == (5, 5, 50)


def test_the_key_of_a_prompt_depends_on_what_is_asked_and_on_nothing_else() -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "héllo"}]
    key = prompt_key(messages, None, SETTINGS)

    assert key == prompt_key([{"content": "héllo", "role": "user"}], None, SETTINGS)
    assert key == "f3da784640f372bf70f43932ace57a19cffe0f96e95e6ce19285eb1fe0872ea2"
    others = [
        prompt_key([{"role": "user", "content": "hello"}], None, SETTINGS),
        prompt_key(messages, [{"type": "function"}], SETTINGS),
        prompt_key(messages, None, Settings(model="other", max_tokens=100)),
        prompt_key(messages, None, Settings(model="m", max_tokens=101)),
        prompt_key(messages, None, Settings(model="m", max_tokens=100, temperature=0.0)),
    ]
    assert len({key, *others}) == 6


@pytest.mark.parametrize(
    "content", [b"[]", b"no", b'{"model": "x"}', b'{"max_tokens": 3}', b'{"n": 2}', b'{"temperature": 1}']
)
def test_further_fields_that_would_change_the_stage_are_refused(content: bytes) -> None:
    with pytest.raises(UsageError):
        further_fields(content, source="extra.json")


def test_differences_name_both_sides() -> None:
    assert differences({"seed": 1}, {"seed": 2, "top_p": 0.5}) == [
        "seed is 2 there and 1 here",
        "top_p is 0.5 there and not set here",
    ]


def event(**choice: Any) -> str:
    return json.dumps({"choices": [{"index": 0, **choice}]})


def test_an_answer_without_a_reason_is_cut_whatever_came() -> None:
    assembly = Assembly()
    assembly.add(event(delta={"content": "all of it"}))

    with pytest.raises(Passing, match="without a reason") as cut:
        assembly.answer()

    assert cut.value.lost_tokens == len("all of it")


@pytest.mark.parametrize(
    "piece",
    [
        event(delta={"content": 7}),
        event(delta={"content": "\ud800"}),
        event(delta={"tool_calls": [7]}),
        json.dumps({"choices": 7}),
        json.dumps({"choices": ["x"]}),
        json.dumps([]),
        "{",
        json.dumps({"error": "gone"}),
        json.dumps({"error": {"code": 429, "message": "slow"}}),
    ],
)
def test_a_piece_that_is_none_makes_the_answer_cut(piece: str) -> None:
    with pytest.raises(Passing):
        Assembly().add(piece)


def test_an_error_in_a_stream_that_would_come_again_is_not_retried() -> None:
    with pytest.raises(Lasting, match="context length"):
        Assembly().add(json.dumps({"error": {"code": 400, "message": "context length"}}))


@given(st.lists(st.text(), max_size=8), st.lists(st.text(), max_size=8))
def test_pieces_come_together_to_the_letter(content: list[str], thoughts: list[str]) -> None:
    assembly = Assembly()
    for piece in thoughts:
        assembly.add(event(delta={"reasoning_content": piece, "reasoning": piece}))
    for piece in content:
        assembly.add(event(delta={"content": piece}))
    assembly.add(event(delta={}, finish_reason="stop"))

    message = assembly.answer().message

    assert message["content"] == "".join(content)
    assert message.get("reasoning_content", "") == "".join(thoughts)


@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20)), max_size=6), st.integers(0, 10_000))
def test_a_file_cut_at_any_byte_keeps_every_whole_line(
    tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, str]], cut: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "lines.ndjson"
    lines = GrowingLines(path)
    for value in values:
        lines.append(value)
    lines.close()
    content = path.read_bytes()
    kept = content[: min(cut, len(content))]
    path.write_bytes(kept)

    again = GrowingLines(path)
    recovered = list(again.recover())
    again.append({"one": "more"})
    again.close()

    whole = kept.count(b"\n")
    assert recovered == values[:whole]
    assert path.read_bytes() == content[: kept.rfind(b"\n") + 1] + b'{"one":"more"}\n'


def test_blocks_that_a_power_cut_left_unwritten_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "lines.ndjson"
    path.write_bytes(b'{"a":1}\n' + b"\0" * 100 + b"\n")

    lines = GrowingLines(path)

    assert list(lines.recover()) == [{"a": 1}]
    lines.close()
    assert path.read_bytes() == b'{"a":1}\n'
