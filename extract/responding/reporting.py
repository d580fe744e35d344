"""What is said of a run: as JSON, as text, and while it goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from extract.answering import json_path
from extract.responding.outcome import Responded, usage_payload
from extract.responding.wanting import Wanted

MOST_SHOWN = 10


@dataclass(slots=True)
class Watch:
    """How far the run is. `total` is how many prompts are to be asked."""

    total: int = 0
    done: int = 0
    tokens: int = 0

    def following(self, show: Callable[[], None]) -> Callable[[int], Callable[[int, int], None]]:
        """Return what is told the total, and then of each prompt that is through with its tokens."""

        def of(total: int) -> Callable[[int, int], None]:
            self.total = total

            def advance(prompts: int, tokens: int) -> None:
                self.done += prompts
                self.tokens += tokens
                show()

            return advance

        return of

    def line(self, seconds: float) -> str:
        """Return the state in one line: how much of how much, rates, time left."""
        left = ""
        if self.done:
            left = f", {_duration((self.total - self.done) * seconds / self.done)} left"
        rates = f"{self.done / seconds * 60:,.1f} a minute, {self.tokens / seconds:,.0f} tokens a second"
        return f"responding: {self.done:,} of {self.total:,} prompts, {rates}{left}"


def payload(done: Responded, wanted: Wanted) -> dict[str, Any]:
    """Return the answer as JSON fields."""
    usage = done.usage
    return {
        "name": done.artifact.name,
        **json_path(str(wanted.out.absolute())),
        "complete": done.is_sealed,
        "stopped": done.stop.reason.value if done.stop is not None else None,
        "prompts": done.tally.prompts,
        "doubled": done.tally.doubled,
        "records": usage.answers,
        "answered_now": done.answered_now,
        "unanswered": done.unanswered,
        "not_asked": max(done.unanswered - done.tried, 0),
        "truncated": usage.truncated,
        "refused": usage.refused,
        "empty": usage.empty,
        "usage": usage_payload(usage, wanted.prices),
        "tokens_now": done.tokens_now,
        "duration_seconds": round(done.seconds, 3),
        "tokens_per_second": round(done.tokens_now / done.seconds, 3) if done.seconds else None,
        "budget_tokens": wanted.budget_tokens,
        "spent_tokens": usage.total_tokens,
        "holes": [hole.as_json() for hole in done.holes],
    }


def lines(done: Responded, wanted: Wanted) -> list[str]:
    """Return the answer as text."""
    usage = done.usage
    state = "complete" if done.is_sealed else "not complete"
    said = [
        f"{done.artifact.name}: {done.answered:,} of {done.tally.prompts:,} prompts are answered, "
        f"{done.answered_now:,} of them now; the set is {state}"
    ]
    said.append(
        f"  tokens     {usage.prompt_tokens:,} of prompts, {usage.completion_tokens:,} of answers{_extra(done)}"
    )
    cost = usage.cost_usd(wanted.prices)
    if cost is not None:
        said.append(f"  cost       {cost:.4f} US dollars")
    marked = {"truncated": usage.truncated, "refused": usage.refused, "empty": usage.empty}
    if any(marked.values()):
        said.append("  marked     " + ", ".join(f"{count:,} {what}" for what, count in marked.items() if count))
    if usage.answers > done.answered:
        said.append(f"  besides    {usage.answers - done.answered:,} answers to prompts that were not named now")
    if done.tally.doubled:
        said.append(f"  left out   {done.tally.doubled:,} prompts that come again")
    return [*said, *_hole_lines(done)]


def _extra(done: Responded) -> str:
    usage = done.usage
    parts = []
    if usage.lost_attempts:
        parts.append(f"up to {usage.lost_tokens:,} in {usage.lost_attempts:,} attempts that came to nothing")
    if usage.uncounted:
        parts.append(f"up to {usage.estimated_tokens:,} in {usage.uncounted:,} answers that the server did not count")
    return "".join(f", {part}" for part in parts)


def _hole_lines(done: Responded) -> list[str]:
    if not done.unanswered:
        return []
    not_asked = done.unanswered - done.tried
    said = [f"  unanswered {done.unanswered:,}" + (f", {not_asked:,} of them not asked" if not_asked > 0 else "")]
    for hole in done.holes[:MOST_SHOWN]:
        named = "" if hole.record_id is None else f" ({hole.record_id})"
        said.append(f"    {hole.source}:{hole.line}{named}: {hole.reason}")
    more = done.tried - len(done.holes[:MOST_SHOWN])
    return [*said, f"    and {more:,} more, in unanswered.ndjson of {done.artifact.name}"] if more > 0 else said


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
