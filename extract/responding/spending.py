"""Tokens and money: what was spent, and what requests in flight may still spend."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

TEMPLATE_TOKENS = 64
"""What a chat template adds to the messages at first sight; the server's own counts correct it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars for a million tokens of prompts and of answers; None where nobody said."""

    prompt: Decimal | None = None
    answer: Decimal | None = None

    def cost(self, prompt_tokens: int, answer_tokens: int) -> Decimal | None:
        """Return what so many tokens cost; None without prices."""
        if self.prompt is None and self.answer is None:
            return None
        million = Decimal(1_000_000)
        return (prompt_tokens * (self.prompt or 0) + answer_tokens * (self.answer or 0)) / million


@dataclass(slots=True)
class Usage:
    """Sums over answers and over attempts that came to nothing.

    `uncounted` answers came without a count: `estimated_tokens` is the most that they can have cost. `reported_usd` is
    what servers said that answers cost.
    """

    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    uncounted: int = 0
    estimated_tokens: int = 0
    reported_usd: Decimal | None = None
    truncated: int = 0
    refused: int = 0
    empty: int = 0
    lost_attempts: int = 0
    lost_tokens: int = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one record of the set."""
        usage = record.get("usage")
        self.answers += 1
        self.truncated += bool(record.get("truncated"))
        self.refused += bool(record.get("refused"))
        self.empty += bool(record.get("empty"))
        if not isinstance(usage, dict) or count_of(usage, "completion_tokens") is None:
            self.uncounted += 1
            self.estimated_tokens += count_of(record, "tokens_at_most") or 0
            return
        self.prompt_tokens += count_of(usage, "prompt_tokens") or 0
        self.completion_tokens += count_of(usage, "completion_tokens") or 0
        self.cached_tokens += _nested(usage, "prompt_tokens_details", "cached_tokens")
        self.reasoning_tokens += _nested(usage, "completion_tokens_details", "reasoning_tokens")
        cost = usage.get("cost")
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < 1e9:
            self.reported_usd = (self.reported_usd or Decimal(0)) + Decimal(str(cost))

    def add_lost(self, tokens: int) -> None:
        """Count an attempt that came to nothing and may have cost so many tokens."""
        self.lost_attempts += 1
        self.lost_tokens += tokens

    @property
    def total_tokens(self) -> int:
        """Every token that was, or may have been, paid."""
        return self.prompt_tokens + self.completion_tokens + self.estimated_tokens + self.lost_tokens

    def cost_usd(self, prices: Prices) -> Decimal | None:
        """Return the cost by the prices given, else as servers reported it; None when nobody said."""
        by_price = prices.cost(self.prompt_tokens, self.completion_tokens + self.estimated_tokens + self.lost_tokens)
        return self.reported_usd if by_price is None else by_price


class Budget:
    """So many tokens for the set, earlier runs included. A request is admitted with the most that it can cost.

    `limit` None is without end. The most is the bytes of the prompt (a token is a byte at least) with what templates
    add, and the longest answer; it is settled with what the server counted.
    """

    def __init__(self, limit: int | None, *, spent: int) -> None:
        self._limit = limit
        self._spent = spent
        self._reserved = 0
        self._added = TEMPLATE_TOKENS

    @property
    def spent(self) -> int:
        """What is settled."""
        return self._spent

    @property
    def is_in_use(self) -> bool:
        """Whether requests in flight may give something back."""
        return self._reserved > 0

    def reserve(self, *, prompt_bytes: int, max_tokens: int) -> int | None:
        """Return what is set aside for a request; None when it could go beyond the limit."""
        most = prompt_bytes + self._added + max_tokens
        if self._limit is not None and self._spent + self._reserved + most > self._limit:
            return None
        self._reserved += most
        return most

    def settle(self, reserved: int, *, spent: int) -> None:
        """Give back what was set aside and count what was spent."""
        self._reserved -= reserved
        self._spent += spent

    def learn(self, *, prompt_bytes: int, prompt_tokens: int) -> None:
        """Take note of what the template of the server really adds."""
        self._added = max(self._added, prompt_tokens - prompt_bytes)


def count_of(usage: Mapping[str, Any], name: str) -> int | None:
    """Return a count that a server gave; None when it is no count."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def spent_on(usage: Mapping[str, Any] | None, *, most: int) -> int:
    """Return the tokens of one answer; the most that it can have cost where the server did not count."""
    if usage is None or count_of(usage, "completion_tokens") is None:
        return most
    return (count_of(usage, "prompt_tokens") or 0) + (count_of(usage, "completion_tokens") or 0)


def _nested(usage: Mapping[str, Any], group: str, name: str) -> int:
    details = usage.get(group)
    return (count_of(details, name) or 0) if isinstance(details, dict) else 0
