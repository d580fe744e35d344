"""A person's consent to one plan, bound to its digest: a changed plan needs a new one."""

from artifactctl import audit
from artifactctl.catalog import Catalog
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import Refused
from artifactctl.domain.plans import ReclaimPlan, canonical_json
from artifactctl.inventory.acting import Acting
from artifactctl.reclaim.planfile import plan_to_json


def approve_plan(catalog: Catalog, plan: ReclaimPlan, *, reason: str, acting: Acting) -> bool:
    """Record the consent, with the plan itself; `Refused` for one that has expired or has nothing to do.

    Returns whether it counts: the planner's own does not where somebody else must agree.
    """
    if acting.now >= plan.expires_at:
        raise Refused(f"plan {plan.digest[:12]} expired at {plan.expires_at:%Y-%m-%d %H:%M} UTC", remedy="plan again")
    if not plan.steps:
        raise Refused(f"plan {plan.digest[:12]} has no steps: everything in it was refused")
    with catalog.writing(acting.actor, acting.now) as writing:
        writing.save_plan(plan.digest, canonical_json(plan_to_json(plan)), expires_at=plan.expires_at)
        writing.approve(plan.digest, reason=reason)
        names = ", ".join(step.name for step in plan.steps)
        audit.append(
            writing.connection,
            acting.entry(
                AuditAction.PLAN_APPROVE,
                artifact=names if len(plan.steps) == 1 else "",
                reason=reason,
                evidence={"plan_digest": plan.digest, "names": names},
                policy_digest=plan.policy_digest,
            ),
        )
    return not plan.needs_approval or acting.actor != plan.actor
