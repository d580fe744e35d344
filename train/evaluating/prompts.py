"""Prompts as `extract respond` takes them, put as the tokens that ask the target for an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from artifactctl.domain.errors import UsageError
from extract.merging.conversations import UnreadableRecord
from extract.merging.sources import Source, files_of
from extract.merging.templates import ChatTemplate
from extract.merging.tokenization import CorpusTokenizer
from extract.responding.prompts import Prompt, UnreadablePrompt, read_prompts
from extract.responding.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPrompt:
    """`label` is FILE:LINE, `ids` are tokens of the target, the beginning of its answer behind them."""

    label: str
    ids: tuple[int, ...]


def encoded_prompts(place: Path, tokenizer: CorpusTokenizer, *, room_tokens: int) -> tuple[EncodedPrompt, ...]:
    """Return the prompts in a file or folder, each once; UsageError for one that cannot be read or is too long.

    `room_tokens` is how long a prompt may be so that the answer still fits into the target's positions.
    """
    if not tokenizer.template:
        raise UsageError(f"{tokenizer.path} has no chat template to ask with", remedy="use a target that chats")
    template = ChatTemplate(tokenizer.template, special=tokenizer.special, marks=tokenizer.marks)
    prompts = list({prompt.key: prompt for prompt in _readable(place)}.values())
    if not prompts:
        raise UsageError(f"{place} holds no prompts", remedy='one a line, such as {"prompt": "Why is the sky blue?"}')
    texts = [_text(template, prompt) for prompt in prompts]
    encoded = [
        EncodedPrompt(label=_label(prompt), ids=tuple(ids))
        for prompt, (ids, _) in zip(prompts, tokenizer.encode(texts), strict=True)
    ]
    _require_room(encoded, room_tokens)
    return tuple(encoded)


def _readable(place: Path) -> list[Prompt]:
    # The settings give a prompt its key alone: here it only says which prompts are the same.
    found = list(read_prompts([Source(path=file) for file in files_of(place)], Settings(model="eval", max_tokens=1)))
    broken = [each for each in found if isinstance(each, UnreadablePrompt)]
    if broken:
        first = broken[0]
        raise UsageError(
            f"{len(broken)} of {len(found)} prompts cannot be read; the first is {first.source}:{first.line}: "
            f"{first.problem}",
            remedy="correct them: a measurement over the others would not be one over this file",
        )
    return [each for each in found if isinstance(each, Prompt)]


def _text(template: ChatTemplate, prompt: Prompt) -> str:
    try:
        return template.prompt(prompt.messages, prompt.tools)
    except UnreadableRecord as error:
        raise UsageError(f"{_label(prompt)}: {error}", remedy="correct the prompt") from error


def _label(prompt: Prompt) -> str:
    return f"{prompt.source}:{prompt.line}"


def _require_room(prompts: Sequence[EncodedPrompt], room_tokens: int) -> None:
    longest = max(prompts, key=lambda prompt: len(prompt.ids))
    if len(longest.ids) > room_tokens:
        raise UsageError(
            f"{longest.label} has {len(longest.ids):,} tokens, and with its answer the target has positions for "
            f"{room_tokens:,}",
            remedy="give shorter prompts, or fewer --tokens",
        )
