"""One policy laid over another: its rules count, and nothing that the lower one keeps safe is lost."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from artifactctl.policy.ruleset import Limits, Policy

Bound = TypeVar("Bound", int, float)

NOTHING_MAY_GO = Policy(name="none", limits=Limits(max_bytes=0, max_artifacts=0))
"""Offers nothing and caps everything: what stands in where the policy in force cannot be read."""


def laid_over(base: Policy, upper: Policy) -> Policy:
    """Return the rules of `upper` under the protects of both, the stricter limits and the longer waiting times.

    Laying the same policy over it once more changes nothing.
    """
    return replace(
        upper,
        owner=upper.owner or base.owner,
        limits=strictest([base.limits, upper.limits]),
        protects=(*base.protects, *(protect for protect in upper.protects if protect not in base.protects)),
        min_age=max(base.min_age, upper.min_age),
        quiet_time=max(base.quiet_time, upper.quiet_time),
        grace=max(base.grace, upper.grace),
    )


def strictest(limits: Sequence[Limits]) -> Limits:
    """Return the smallest of each bound; None, no bound, only where nobody sets one."""
    return Limits(
        max_bytes=min(each.max_bytes for each in limits),
        max_artifacts=min(each.max_artifacts for each in limits),
        max_share_of_kind=_smallest(each.max_share_of_kind for each in limits),
        max_bytes_per_day=_smallest(each.max_bytes_per_day for each in limits),
        max_artifacts_per_day=_smallest(each.max_artifacts_per_day for each in limits),
        approval_above_bytes=_smallest(each.approval_above_bytes for each in limits),
        approval_on_jump=_smallest(each.approval_on_jump for each in limits),
    )


def _smallest(bounds: Iterable[Bound | None]) -> Bound | None:
    return min((bound for bound in bounds if bound is not None), default=None)
