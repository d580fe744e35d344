"""The last answer stands in a corpus as the model produced it, whatever a template makes of earlier ones."""

from pathlib import Path
from typing import Any

import pytest

from extract.merging.conversations import Conversation, Tokenised, parse
from extract.merging.last_answers import SpansUnclear
from extract.merging.templates import ChatTemplate
from extract.merging.tokenization import CorpusTokenizer
from tests.extract.conftest import CHAT_ML
from tests.extract.merging.merged import merged, read_corpus
from tests.extract.texts import write_lines

KIMI = (
    "{% for m in messages %}<|im_{{ m.role }}|>{{ m.role }}<|im_middle|>"
    "{% if m.role == 'assistant' %}<think></think>{% endif %}{{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_assistant|>assistant<|im_middle|>{% endif %}"
)
"""Takes every answer for an earlier one, as the template of Kimi K2 does."""

DEEPSEEK = (
    "{% for m in messages %}{% if m.role == 'user' %}<User>{{ m.content }}{% else %}"
    "<Assistant>{{ m.content.split('</think>')[-1] }}<end>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<Assistant><think>\n{% endif %}"
)
"""Leaves thoughts out, and begins them in the prompt, as the template of DeepSeek R1 does."""

QWEN = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content.strip('\n') }}\n</think>\n\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Writes the thoughts, as the template of Qwen3 does."""

MARKED = (
    "{% for m in messages %}[{{ m.role }}]{% if m.role == 'assistant' %}{% generation %}{{ m.content }}</s>"
    "{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n{% endfor %}"
)
MARKS = ("<|im_end|>", "<end>", "</s>")


def talk(answer: str, *, thought: str = "", is_cut: bool = False, **more: Any) -> Conversation:
    message = {"role": "assistant", "content": answer, **more}
    if thought:
        message["reasoning_content"] = thought
    return Conversation(messages=({"role": "user", "content": "two?"}, message), is_cut=is_cut)


def said(template: str, conversation: Conversation) -> tuple[str, list[str]]:
    text, spans = ChatTemplate(template, special={}, marks=MARKS).render(conversation)
    return text, [text[begin:end] for begin, end in spans]


@pytest.mark.parametrize(
    ("template", "whole", "produced"),
    [
        (
            KIMI,
            "<|im_user|>user<|im_middle|>two?<|im_end|><|im_assistant|>assistant<|im_middle|>",
            "<think>hm.\n</think>2<|im_end|>",
        ),
        (DEEPSEEK, "<User>two?<Assistant><think>\n", "hm.\n</think>2<end>"),
        (QWEN, "<|im_start|>user\ntwo?<|im_end|>\n<|im_start|>assistant\n", "<think>\nhm.\n</think>\n\n2<|im_end|>"),
    ],
    ids=["Kimi", "DeepSeek", "Qwen"],
)
def test_what_the_model_thought_is_part_of_what_it_produced(template: str, whole: str, produced: str) -> None:
    text, spans = said(template, talk("2", thought="hm.\n"))

    assert text.startswith(whole + produced)
    assert spans == [produced]


def test_a_template_without_marks_for_thoughts_leaves_unclear_what_was_produced() -> None:
    with pytest.raises(SpansUnclear, match="thought"):
        said(CHAT_ML, talk("2", thought="hm"))


@pytest.mark.parametrize(
    ("template", "ending"),
    [(CHAT_ML, "assistant\n2 and"), (MARKED, "[assistant]2 and"), (KIMI, "<think></think>2 and")],
    ids=["ChatML", "marked", "Kimi"],
)
def test_an_answer_that_was_cut_off_ends_no_turn(template: str, ending: str) -> None:
    text, (produced,) = said(template, talk("2 and", is_cut=True))

    assert text.endswith(ending)
    assert produced in ("2 and", "<think></think>2 and")


def test_thoughts_that_were_cut_off_do_not_end() -> None:
    assert said(DEEPSEEK, talk("", thought="hm, so", is_cut=True))[1] == ["hm, so"]
    assert said(KIMI, talk("", thought="hm, so", is_cut=True))[1] == ["<think>hm, so"]
    assert said(QWEN, talk("", thought="hm, so", is_cut=True))[1] == ["<think>\nhm, so"]


def test_an_answer_that_was_cut_off_behind_its_thoughts_ends_no_turn() -> None:
    assert said(KIMI, talk("2 a", thought="hm", is_cut=True))[1] == ["<think>hm</think>2 a"]


def test_a_call_that_was_cut_off_is_unclear() -> None:
    with pytest.raises(SpansUnclear, match="call"):
        said(CHAT_ML, talk("", is_cut=True, tool_calls=[{"function": {"name": "f", "arguments": "{"}}]))


@pytest.mark.parametrize(
    "mark", [{"finish_reason": "length"}, {"finish_reason": "content_filter"}, {"truncated": True}, {"refused": True}]
)
def test_a_record_says_that_its_answer_was_cut_off(mark: dict[str, Any]) -> None:
    messages = list(talk("2").messages)
    parsed, whole = parse({"messages": messages, **mark}), parse({"messages": messages, "finish_reason": "stop"})

    assert not isinstance(parsed, Tokenised)
    assert not isinstance(whole, Tokenised)
    assert parsed.is_cut
    assert not whole.is_cut


def test_refusals_without_a_word_teach_nothing_and_cuts_no_end(tmp_path: Path, tiny: CorpusTokenizer) -> None:
    user = {"role": "user", "content": "one?"}
    source = write_lines(
        tmp_path / "answers.jsonl",
        [
            {"messages": [user, {"role": "assistant", "content": "yes"}], "finish_reason": "stop"},
            {"messages": [user, {"role": "assistant", "content": "yes, b"}], "finish_reason": "length"},
            {"messages": [user, {"role": "assistant", "content": "", "refusal": "no"}], "refused": True},
        ],
    )

    done = merged(tmp_path / "corpus", [source], tiny)

    (counted,) = done.manifest["merge"]["sources"]
    assert (counted["read"], counted["kept"], counted["dropped"]) == (3, 2, {"nothing_learned": 1})
    learned = {
        tiny.decode([token for token, learn in zip(ids, mask, strict=True) if learn])
        for ids, mask in read_corpus(tmp_path / "corpus").records
    }
    assert learned == {"yes<|im_end|>", "yes, b"}
