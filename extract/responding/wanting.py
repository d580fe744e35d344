"""What is wanted of a run, and what its prompts are."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from artifactctl.domain.errors import UsageError
from extract.credentials import Key
from extract.merging.sources import Source
from extract.responding.endpoint import Endpoint
from extract.responding.patience import Patience
from extract.responding.prompts import UnreadablePrompt, read_prompts, short_key
from extract.responding.settings import Settings
from extract.responding.spending import Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of a run: what to ask whom, how, and what to make of it where."""

    sources: tuple[Source, ...]
    out: Path
    settings: Settings
    endpoint: Endpoint
    key: Key
    concurrency: int
    silence: timedelta
    patience: Patience
    budget_tokens: int | None
    prices: Prices
    accept_holes: bool
    name: str = ""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the prompts are: the short keys of distinct ones, how many come again, which cannot be read."""

    keys: set[bytes] = field(default_factory=set)
    doubled: int = 0
    size_bytes: int = 0
    unreadable: list[UnreadablePrompt] = field(default_factory=list)

    @property
    def prompts(self) -> int:
        """How many different prompts there are."""
        return len(self.keys)


def tally_of(wanted: Wanted) -> Tally:
    """Read every prompt once, before anything is made or spent; UsageError when there are none."""
    tally = Tally()
    for prompt in read_prompts(wanted.sources, wanted.settings):
        if isinstance(prompt, UnreadablePrompt):
            tally.unreadable.append(prompt)
            continue
        key = short_key(prompt.key)
        if key in tally.keys:
            tally.doubled += 1
            continue
        tally.keys.add(key)
        tally.size_bytes += prompt.size_bytes
    if not tally.keys and not tally.unreadable:
        raise UsageError("there are no prompts", remedy="check the files")
    return tally
