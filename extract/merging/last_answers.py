"""The answer at the end of a conversation, as the model produced it: what a template would add or leave out.

A template writes conversations for the next turn. Many (Kimi K2, DeepSeek R1) leave out what the model thought before
earlier answers, and take the last one for such; all of them end a turn that was cut off. Hidden states of that text
would be those of something that the model never said.
"""

from collections.abc import Mapping
from typing import Any

Span = tuple[int, int]
"""Characters from, up to."""

PROBE = "\U0010fe03"
"""A private-use character that stands for a text, to see where a template puts it."""

_BEGIN_THOUGHT, _END_THOUGHT = "<think>", "</think>"


class SpansUnclear(ValueError):
    """What the assistant produced cannot be told from the rendered text."""


def produced(answer: Mapping[str, Any], *, prompt: str, ending: str, template: str) -> str:
    """Return what the model wrote behind the prompt: thoughts, their end, content, the end of the turn.

    `ending` is what the template writes behind the content, "" where the answer was cut off. The thoughts' beginning is
    part of the prompt in some templates. SpansUnclear where the template knows no marks of thoughts.
    """
    if _END_THOUGHT not in template:
        raise SpansUnclear("the template leaves out what the model thought, and shows no marks for it")
    thought, content = answer["reasoning_content"], answer["content"]
    begin = "" if prompt.rstrip().endswith(_BEGIN_THOUGHT) else _BEGIN_THOUGHT
    if not ending and not content:  # cut off while it thought
        return f"{begin}{thought}"
    return f"{begin}{thought}{_END_THOUGHT}{content}{ending}"


def cut_off(text: str, spans: list[Span], answer: Mapping[str, Any]) -> tuple[str, list[Span]]:
    """Return text and spans that end where the last answer was cut off, without what the template adds there."""
    if answer.get("tool_calls"):
        raise SpansUnclear("its call of a tool was cut off")
    if not spans:
        raise SpansUnclear("the template leaves out what the assistant says")
    begin, end = spans[-1]
    said = answer["content"] or answer.get("reasoning_content") or ""
    for form in (said, said.rstrip(), said.strip()):  # templates strip
        at = text.rfind(form, begin, end)
        if at >= 0:
            last = at + len(form) if form else begin
            return text[:last], [*spans[:-1], (begin, last)]
    raise SpansUnclear("where its last answer was cut off cannot be told")
