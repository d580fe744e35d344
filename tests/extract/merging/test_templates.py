"""Which part of a rendered conversation the assistant produced, by different kinds of templates."""

import pytest

from artifactctl.domain.errors import UsageError
from extract.merging.conversations import Conversation, UnreadableRecord
from extract.merging.last_answers import SpansUnclear
from extract.merging.masking import mask_of
from extract.merging.templates import ChatTemplate
from tests.extract.conftest import CHAT_ML

TALK = Conversation(
    messages=(
        {"role": "user", "content": "one?"},
        {"role": "assistant", "content": "<think>hm</think>1"},
        {"role": "user", "content": "two?"},
        {"role": "assistant", "content": "<think>well</think>2"},
    )
)
MARKED = (
    "{% for m in messages %}[{{ m.role }}]{% if m.role == 'assistant' %}{% generation %}{{ m.content }}</s>"
    "{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n{% endfor %}"
)
FORGETFUL = (
    "{% for m in messages %}<{{ m.role }}>"
    "{% if loop.last %}{{ m.content }}{% else %}{{ m.content.split('</think>')[-1] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def produced(template: str, talk: Conversation = TALK, marks: tuple[str, ...] = ("<|im_end|>",)) -> list[str]:
    text, spans = ChatTemplate(template, special={"eos_token": "</s>"}, marks=marks).render(talk)
    return [text[begin:end] for begin, end in spans]


def test_an_answer_begins_behind_the_prompt_and_ends_with_the_token_that_ends_the_turn() -> None:
    assert produced(CHAT_ML) == ["<think>hm</think>1<|im_end|>", "<think>well</think>2<|im_end|>"]


def test_blocks_that_the_template_marks_are_taken_as_they_are() -> None:
    assert produced(MARKED) == ["<think>hm</think>1</s>", "<think>well</think>2</s>"]


def test_a_template_that_rewrites_earlier_turns_leaves_unclear_what_was_produced() -> None:
    with pytest.raises(SpansUnclear):
        produced(FORGETFUL)


def test_such_a_template_is_clear_where_there_is_one_answer() -> None:
    assert produced(FORGETFUL, Conversation(messages=TALK.messages[:2])) == ["<think>hm</think>1"]


def test_a_template_is_told_no_date() -> None:
    assert produced("{% if strftime_now is defined %}dated{% endif %}{{ messages[0].content }}") is not None
    text, _ = ChatTemplate("{{ strftime_now is defined }}", special={}, marks=()).render(
        Conversation(messages=TALK.messages[:1])
    )
    assert text == "False"


def test_what_a_template_refuses_is_a_record_that_cannot_be_read() -> None:
    with pytest.raises(UnreadableRecord, match="refuses it: no system message"):
        produced("{{ raise_exception('no system message') }}")


@pytest.mark.parametrize("escape", ["{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}"])
def test_a_template_cannot_reach_out_of_its_sandbox(escape: str) -> None:
    with pytest.raises(UnreadableRecord):
        produced(escape)


def test_a_broken_template_is_an_error_with_a_way_out() -> None:
    with pytest.raises(UsageError, match="no Jinja") as refused:
        produced("{% for %}")

    assert "--chat-template" in refused.value.remedy


@pytest.mark.parametrize(
    ("spans", "mask"),
    [
        ([(2, 5)], b"\0\1\1\0"),
        ([(1, 5)], b"\0\1\1\0"),
        ([(2, 4)], b"\0\1\0\0"),
        ([(0, 2), (5, 9)], b"\1\0\0\1"),
        ([(3, 3)], b"\0\0\0\0"),
        ([], b"\0\0\0\0"),
    ],
    ids=["exact", "begins within a token", "ends within a token", "two", "empty", "none"],
)
def test_a_token_counts_where_it_lies_wholly_within_a_span(spans: list[tuple[int, int]], mask: bytes) -> None:
    assert mask_of([(0, 2), (2, 3), (3, 5), (5, 9)], spans) == mask
