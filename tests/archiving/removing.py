"""The engine that removes, on the ground of the tests of archiving."""

from dataclasses import replace
from datetime import timedelta

from artifactctl.configuration.policy_files import shipped_default
from artifactctl.domain.plans import ReclaimPlan
from artifactctl.domain.results import OperationResult
from artifactctl.policy.ruleset import Policy
from artifactctl.reclaim import applying
from artifactctl.reclaim.preparing import Wish, prepare
from artifactctl.reclaim.workplace import Workplace
from tests.archiving.ground import ACTOR, NOON, Ground

QUICK = replace(shipped_default(), quiet_time=timedelta(0), min_age=timedelta(0))


def workplace(ground: Ground, policy: Policy = QUICK) -> Workplace:
    work = ground.work()
    return Workplace(
        catalog=ground.catalog,
        host=ground.host,
        policy=policy,
        actor=ACTOR,
        clock=lambda: NOON,
        new_operation=work.new_operation,
    )


def plan_for(ground: Ground, *roots: str, policy: Policy = QUICK) -> ReclaimPlan:
    """Plan the removal of the copies of `hidden` in the roots; of what the policy offers in `near` without any."""
    artifact = ground.known()
    chosen = tuple((artifact, r) for r in artifact.replicas if r.root.name in roots)
    return prepare(workplace(ground, policy), Wish(chosen=chosen, scope=() if roots else (ground.near,)))


def carry_out(ground: Ground, plan: ReclaimPlan, policy: Policy = QUICK) -> OperationResult:
    return applying.apply_plan(workplace(ground, policy), plan, reason="archived")
