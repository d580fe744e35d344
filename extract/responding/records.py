"""One line of a response set: the conversation with its answer, and what was said about it."""

from datetime import datetime
from typing import Any

from extract.responding.answers import Answer
from extract.responding.prompts import Prompt


def record_of(prompt: Prompt, answer: Answer, *, at: datetime, tokens_at_most: int) -> dict[str, Any]:
    """Return the record that `extract merge` takes: `messages` with the answer as it came, nothing left out.

    `tokens_at_most` is what it can have cost; it stands there where the server did not count.
    """
    marks = {"truncated": answer.is_truncated, "refused": answer.is_refusal, "empty": answer.is_empty}
    return {
        "id": prompt.key if prompt.record_id is None else prompt.record_id,
        "prompt_key": prompt.key,
        "messages": [*prompt.messages, answer.message],
        **({"tools": prompt.tools} if prompt.tools else {}),
        "finish_reason": answer.finish_reason,
        **{name: True for name, holds in marks.items() if holds},
        "usage": answer.usage,
        **({"tokens_at_most": tokens_at_most} if answer.usage is None else {}),
        "model": answer.served_model,
        "response_id": answer.response_id,
        "answered_at": at.isoformat(timespec="seconds"),
    }
