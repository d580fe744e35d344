"""What a policy, or a change of one, means for the artifacts that a catalog knows."""

from datetime import datetime

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.errors import UsageError
from artifactctl.inventory.policy_view import catalogue_view, view_for, without_garbage_collection
from artifactctl.policy.differing import HORIZONS, Candidate, PolicyDifference, differ
from artifactctl.policy.evaluating import evaluate, explain
from artifactctl.policy.ruleset import Policy
from artifactctl.report.policy_explanation import Explanation


def difference_between(old: Candidate, new: Candidate, reading: Reading, *, now: datetime) -> PolicyDifference:
    """Return what changes for every artifact that either policy may match until the last horizon."""
    policies = (old.standing, new.standing)
    with without_garbage_collection():
        return differ(old, new, view_for(reading, policies, now=now, until=now + HORIZONS[-1]))


def explanation_of(policy: Policy, reading: Reading, artifact: Artifact, *, now: datetime) -> Explanation:
    """Return every verdict about one artifact. UsageError when it has no bytes that a policy could speak of."""
    key = artifact.artifact_id
    view = catalogue_view(reading, now=now, policy=policy, also=(key,))
    decisions = evaluate(policy, view, now=now).decisions
    if key not in decisions:
        raise UsageError(
            f"{artifact.name} has no copy below a managed root; no policy has anything to say about it",
            remedy=f"artifactctl show {artifact.name}",
        )
    return Explanation(
        name=artifact.name,
        decision=decisions[key],
        verdicts=explain(policy, view, key, now=now),
        policy_digest=policy.digest,
    )
