"""The words that make room for a run that lacks it: only what would really free bytes now is named as doing so."""

import os
from pathlib import Path

from artifactctl.api.admission import Giving, Relief
from artifactctl.api.wording import format_bytes, format_instant, shell_word

_MOST_NAMED = 3
_MIB = 2**20


def words_that_make_room(
    relief: Relief, *, mount: str, lacking_bytes: int, next_shard_bytes: int, plan_file: Path
) -> str:
    """Return a command and what it frees, or why nothing catalogued can go now and from when something may.

    `lacking_bytes` is what all that is still to come lacks, `next_shard_bytes` what the next shard does.
    """
    if not relief.now:
        return f"{_nothing(relief)}; `artifactctl rescue {_word(mount)}` says what else lies on {mount}"
    named = f"{_named(relief.now)}: {format_bytes(relief.freed_bytes)} at once"
    offered = [each for each in relief.now if not each.is_aside]
    if not offered:
        return (
            f"artifactctl quarantine purge --expired    ({named}{_but(relief, max(lacking_bytes, next_shard_bytes))})"
        )
    in_place_bytes = sum(each.freed_bytes for each in offered)
    if 0 < lacking_bytes <= in_place_bytes and next_shard_bytes <= lacking_bytes:
        command = f"artifactctl reclaim --purge-now --for {_word(str(plan_file))}"
    elif 0 < next_shard_bytes <= in_place_bytes:
        roots = " ".join(_word(root) for root in relief.roots)
        command = f"artifactctl reclaim {roots} --purge-now --need {-(-next_shard_bytes // _MIB)}MiB"
    else:
        command = f"artifactctl reclaim --purge-now {' '.join(_word(each.name) for each in offered)}"
    first = "artifactctl quarantine purge --expired; " if len(offered) < len(relief.now) else ""
    return f"{first}{command}    ({named}{_but(relief, max(lacking_bytes, next_shard_bytes))})"


def _but(relief: Relief, lacking_bytes: int) -> str:
    short_bytes = lacking_bytes - relief.freed_bytes
    return f"; {format_bytes(short_bytes)} short of all that is to come" if short_bytes > 0 else ""


def _nothing(relief: Relief) -> str:
    reasons = []
    if relief.later:
        first = relief.later[0]
        state = "is out of quarantine" if first.is_aside else "is old enough"
        reasons.append(f"none {state} before {format_instant(first.from_when)} ({_named(relief.later)})")
    reasons += [f"{name} stays: {why}" for name, why in relief.kept[:_MOST_NAMED]]
    if len(relief.kept) > _MOST_NAMED:
        reasons.append(f"{len(relief.kept) - _MOST_NAMED:,} more stay")
    if not reasons:
        reasons = [relief.trouble or "nothing is offered"]
    return f"nothing catalogued may go now: {'; '.join(reasons)}"


def _named(given: tuple[Giving, ...]) -> str:
    more = f" and {len(given) - _MOST_NAMED:,} more" if len(given) > _MOST_NAMED else ""
    return ", ".join(each.name for each in given[:_MOST_NAMED]) + more


def _word(text: str) -> str:
    return shell_word(os.fsencode(text))
