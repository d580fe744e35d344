"""Chat templates: conversations as text, with the ranges that the assistant produced.

A template is Jinja2 as `transformers` runs it: sandboxed, blocks trimmed, `raise_exception`, `tojson` that keeps
Unicode. It is told no date: a corpus must not depend on the day it was merged.

The ranges come from `{% generation %}` blocks where the template has them. Otherwise a turn of the assistant is what
the rendering of the messages up to it has beyond the rendering of those before with the prompt for an answer; the first
must be the beginning of the whole, else the template rewrites earlier turns and what was produced is not known.

The answer at the end is put together as the model produced it where a template would not (`last_answers`).
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from artifactctl.domain.errors import UsageError
from extract.merging.conversations import Conversation, UnreadableRecord
from extract.merging.last_answers import PROBE, Span, SpansUnclear, cut_off, produced
from extract.requirements import need

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_OPEN, _CLOSE = "\U0010fe01", "\U0010fe02"
"""Private-use characters that mark `{% generation %}` blocks in the rendered text, and are taken out again."""


class ChatTemplate:
    """A compiled template. `special` are the tokens it is told, `marks` the texts of all added tokens."""

    def __init__(self, text: str, *, special: Mapping[str, str], marks: Sequence[str]) -> None:
        self._special = dict(special)
        self._marks = tuple(mark for mark in marks if mark.strip())
        self._marked = "generation" in text
        self._source = text
        self._template = _compile(text)

    def render(self, conversation: Conversation) -> tuple[str, list[Span]]:
        """Return the text and what the assistant produced in it; SpansUnclear, UnreadableRecord."""
        answer = conversation.last_answer
        if answer is not None and answer.get("reasoning_content") and not self._shows_thoughts(conversation):
            return self._with_thoughts(conversation, answer)
        text, spans = self._rendered(conversation)
        return cut_off(text, spans, answer) if conversation.is_cut and answer is not None else (text, spans)

    def prompt(self, messages: Sequence[dict[str, Any]], tools: list[Any] | None) -> str:
        """Return the text that asks for an answer to the messages; UnreadableRecord."""
        return _plain(self._text(messages, tools, prompts=True))

    def _shows_thoughts(self, conversation: Conversation) -> bool:
        """Whether the template writes what the model thought before its last answer."""
        probing = {**conversation.messages[-1], "reasoning_content": PROBE}
        return PROBE in self._text([*conversation.messages[:-1], probing], conversation.tools)

    def _with_thoughts(self, conversation: Conversation, answer: dict[str, Any]) -> tuple[str, list[Span]]:
        """Return the text with the last answer as produced: behind the prompt, thoughts first."""
        earlier = Conversation(messages=conversation.messages[:-1], tools=conversation.tools)
        text, spans = self._rendered(earlier)
        before = self.prompt(earlier.messages, earlier.tools)
        if not before.startswith(text):
            raise SpansUnclear("the template rewrites earlier turns")
        probing = {**answer, "content": PROBE, "reasoning_content": None}
        _, found, ending = _plain(self._text([*earlier.messages, probing], earlier.tools)).rpartition(PROBE)
        if not found:
            raise SpansUnclear("the template leaves out what the assistant says")
        said = produced(answer, prompt=before, ending="" if conversation.is_cut else ending, template=self._source)
        whole = before + said
        return whole, [*spans, (len(before), self._end(whole, len(before), len(whole)))]

    def _rendered(self, conversation: Conversation) -> tuple[str, list[Span]]:
        """Return the text as the template writes it."""
        messages = list(conversation.messages)
        whole = self._text(messages, conversation.tools)
        if self._marked and _OPEN in whole:
            return _without_marks(whole)
        spans = []
        for number, message in enumerate(messages):
            if message["role"] == "assistant":
                before = self._text(messages[:number], conversation.tools, prompts=True)
                through = (
                    whole if number + 1 == len(messages) else self._text(messages[: number + 1], conversation.tools)
                )
                if not (whole.startswith(through) and through.startswith(before)):
                    raise SpansUnclear("the template rewrites earlier turns")
                spans.append((len(before), self._end(whole, len(before), len(through))))
        return whole, spans

    def _end(self, whole: str, start: int, end: int) -> int:
        """Return the end without white space behind the token that ends a turn: nobody produced that."""
        said = whole[start:end].rstrip()
        return start + len(said) if said.endswith(self._marks) else end

    def _text(self, messages: Sequence[dict[str, Any]], tools: list[Any] | None, *, prompts: bool = False) -> str:
        from jinja2 import TemplateError

        try:
            return self._template.render(
                messages=messages, tools=tools, documents=None, add_generation_prompt=prompts, **self._special
            )
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
            raise UnreadableRecord(f"the chat template refuses it: {error}") from error


def _compile(text: str) -> "Template":
    need("jinja2", purpose="applying a chat template")
    from jinja2 import TemplateSyntaxError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _generation_tag()]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    try:
        return environment.from_string(text)
    except TemplateSyntaxError as error:
        raise UsageError(
            f"the chat template is no Jinja: {error}", remedy="give another with --chat-template"
        ) from error


def _generation_tag() -> Any:
    from jinja2 import nodes
    from jinja2.ext import Extension

    class Generation(Extension):
        """`{% generation %} ... {% endgeneration %}`: what the assistant produced, put between the two marks."""

        tags = {"generation"}  # noqa: RUF012 - jinja2 declares it like this

        def __init__(self, environment: "Environment") -> None:
            super().__init__(environment)

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return nodes.CallBlock(self.call_method("_produced"), [], [], body).set_lineno(line)

        def _produced(self, caller: Any) -> str:
            return f"{_OPEN}{caller()}{_CLOSE}"

    return Generation


def _refuse(message: str) -> None:
    from jinja2 import TemplateError

    raise TemplateError(message)


def _to_json(value: Any, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)


def _plain(marked: str) -> str:
    """Return the text without the marks of `{% generation %}` blocks."""
    return marked.replace(_OPEN, "").replace(_CLOSE, "")


def _without_marks(marked: str) -> tuple[str, list[Span]]:
    parts: list[str] = []
    spans: list[Span] = []
    length = 0
    for number, piece in enumerate(marked.replace(_CLOSE, _OPEN).split(_OPEN)):
        if number % 2:
            spans.append((length, length + len(piece)))
        parts.append(piece)
        length += len(piece)
    if len(parts) % 2 == 0 or marked.count(_OPEN) != marked.count(_CLOSE):
        raise SpansUnclear("its text holds the characters that mark what was generated")
    return "".join(parts), spans
