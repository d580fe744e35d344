"""What the limits say of a whole plan, and when somebody else must agree to one. Pure; the past comes in as a value."""

from collections.abc import Sequence

from artifactctl.domain.ledger import Taken
from artifactctl.domain.plans import Cap
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.policy.ruleset import Limits
from artifactctl.report.caps import spell_exceeded
from artifactctl.report.sizes import counted, format_bytes

RUNS_COMPARED = 5
"""Of so many earlier runs the largest is what a jump is measured against."""


def within_caps(caps: Sequence[Cap]) -> Evidence:
    """Return the evidence of the guard that judges a whole plan: one exceeded cap blocks every step."""
    over = [cap for cap in caps if cap.exceeded]
    if not over:
        return Evidence(guard="within_caps", verdict=Verdict.CLEAR, reason="within the limits of one run")
    return Evidence(
        guard="within_caps",
        verdict=Verdict.BLOCKED,
        reason="; ".join(map(spell_exceeded, over)),
        facts=tuple((_label(cap), f"{cap.used}>{cap.limit}") for cap in over),
        remedy="go on tomorrow (UTC), or reclaim fewer: name some of them"
        if all(cap.is_daily for cap in over)
        else "reclaim fewer at once: name some of them",
    )


def why_approval(taken: Taken, limits: Limits, last_runs: Sequence[Taken]) -> tuple[str, ...]:
    """Return why somebody other than the planner must approve a run that takes so much; () when nobody must.

    Without any earlier run there is nothing to compare with, so nothing is a jump.
    """
    reasons = []
    above = limits.approval_above_bytes
    if above is not None and taken.bytes > above:
        reasons.append(f"it takes {format_bytes(taken.bytes)}, and above {format_bytes(above)} that is asked for")
    factor = limits.approval_on_jump
    if factor is not None and last_runs:
        most_bytes, most = max(run.bytes for run in last_runs), max(run.artifacts for run in last_runs)
        than = "the last run" if len(last_runs) == 1 else f"the last {len(last_runs)} runs"
        if taken.bytes > factor * most_bytes:
            size = format_bytes(taken.bytes)
            reasons.append(
                f"{size} is more than {factor:g} times what {than} took at most ({format_bytes(most_bytes)})"
            )
        if taken.artifacts > factor * most:
            number = counted(taken.artifacts, "artifact")
            reasons.append(f"{number} are more than {factor:g} times what {than} took at most ({most:,})")
    return tuple(reasons)


def _label(cap: Cap) -> str:
    return cap.name.value if cap.kind is None else f"{cap.name.value}:{cap.kind.value}"
