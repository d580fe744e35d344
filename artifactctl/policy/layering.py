"""One policy laid over another: its rules count, and nothing that the lower one keeps safe is lost."""

from dataclasses import replace

from artifactctl.policy.reading import strictest
from artifactctl.policy.ruleset import Limits, Policy

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
