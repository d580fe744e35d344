"""How far an artifact is that workers make in shares, and which of its records will never be in it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.domain.shares import Division, Share
from artifactctl.domain.text import printable
from artifactctl.report.sizes import counted

_MOST_NAMED = 5


def making_facts(
    artifact: Artifact, division: Division | None, shares: Sequence[Share], *, now: datetime
) -> tuple[tuple[str, str], ...]:
    """Return rows for `show`: progress while it is being made, and the holes there are."""
    facts: list[tuple[str, str]] = []
    if division is not None and any(copy.state is ReplicaState.BUILDING for copy in artifact.replicas):
        finished, at_work = sum(share.is_finished for share in shares), _at_work(shares, now)
        who = f", at work: {', '.join(printable(holder) for holder in at_work)}" if at_work else ", nobody is at work"
        facts.append(("being made", f"{finished:,} of {counted(division.shares, 'share')} finished{who}"))
    missing = _missing(shares)
    if missing:
        named = "; ".join(f"{index:,}: {printable(reason)}" for index, reason in missing[:_MOST_NAMED])
        more = f"; and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        facts.append(("missing", f"{counted(len(missing), 'record')} ({named}{more})"))
    return tuple(facts)


def making_payload(division: Division | None, shares: Sequence[Share], *, now: datetime) -> dict[str, Any]:
    """Return the same for scripts: `making` is null for what nobody made in shares."""
    making = None
    if division is not None:
        making = {
            "shares": division.shares,
            "finished": sum(share.is_finished for share in shares),
            "at_work": list(_at_work(shares, now)),
        }
    return {
        "making": making,
        "missing_records": [{"index": index, "reason": reason} for index, reason in _missing(shares)],
    }


def _at_work(shares: Sequence[Share], now: datetime) -> tuple[str, ...]:
    return tuple(f"process {share.pid} on {share.host}" for share in shares if share.is_in_force(now))


def _missing(shares: Sequence[Share]) -> list[tuple[int, str]]:
    return sorted((index, reason) for share in shares for index, reason in share.rejected.items())
