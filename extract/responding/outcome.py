"""What became of a run."""

from dataclasses import dataclass
from typing import Any

from artifactctl.domain.artifacts import Artifact
from extract.responding.run import Hole
from extract.responding.spending import Prices, Usage
from extract.responding.stopping import Stop
from extract.responding.wanting import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Responded:
    """What became of it.

    `unanswered` counts all prompts without an answer; `tried` of them are holes, of which `holes` lists the first, and
    the others were not asked.
    """

    artifact: Artifact
    tally: Tally
    usage: Usage
    answered_now: int
    unanswered: int
    tried: int
    holes: tuple[Hole, ...]
    seconds: float
    tokens_now: int
    stop: Stop | None

    @property
    def answered(self) -> int:
        """How many of the prompts that were named have an answer; the set may hold others."""
        return self.tally.prompts + len(self.tally.unreadable) - self.unanswered

    @property
    def is_sealed(self) -> bool:
        """Whether the set is complete, or its holes were accepted."""
        return self.artifact.sealed


def usage_payload(usage: Usage, prices: Prices) -> dict[str, Any]:
    """Return the counts of tokens and the cost as they stand in the manifest and in answers."""
    cost = usage.cost_usd(prices)
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_prompt_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "answers_without_count": usage.uncounted,
        "estimated_tokens": usage.estimated_tokens,
        "lost_attempts": usage.lost_attempts,
        "lost_tokens": usage.lost_tokens,
        "cost_usd": None if cost is None else float(cost),
    }
