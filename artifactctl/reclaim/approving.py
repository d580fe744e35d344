"""A person's name under a plan: whoever made it records it as theirs, and somebody else consents to it.

Both are bound to the plan's digest: a changed plan needs a new consent. Who made a plan is not in its digest, so the
word of the catalog counts for that, not the word of the file.
"""

from artifactctl import audit
from artifactctl.catalog import Catalog, Writing
from artifactctl.domain.accounts import Signature, is_another
from artifactctl.domain.audit import AuditAction, AuditEntry
from artifactctl.domain.errors import Refused
from artifactctl.domain.plans import ReclaimPlan, canonical_json
from artifactctl.domain.roles import Act
from artifactctl.inventory.acting import Acting
from artifactctl.reclaim.planfile import plan_to_json


class PlannerUnknown(Refused):
    """Somebody other than the planner must approve the plan, and nobody has put their name to it."""


class OwnPlan(Refused):
    """Somebody other than the planner must approve the plan, and whoever tries to is not surely somebody else."""


def record_plan(catalog: Catalog, plan: ReclaimPlan, *, acting: Acting) -> None:
    """Record the plan as made by whoever acts: where roles are in force, and where somebody else must approve it.

    Elsewhere nobody ever asks who made it, and nothing is written.
    """
    with catalog.reading() as reading:
        nobody_asks = not reading.grants() and not plan.needs_approval
    if nobody_asks:
        return
    with catalog.writing(acting.actor, acting.now) as writing:
        saved = writing.plan(plan.digest)
        keep_plan(writing, plan, as_planner=True)
        if saved is None or saved.planner is None:
            audit.append(writing.connection, _entry(acting, AuditAction.PLAN_RECORD, plan))


def keep_plan(writing: Writing, plan: ReclaimPlan, *, as_planner: bool = False) -> None:
    """Keep the plan in the transaction at hand."""
    document = canonical_json(plan_to_json(plan))
    writing.save_plan(plan.digest, document, expires_at=plan.expires_at, as_planner=as_planner)


def approve_plan(catalog: Catalog, plan: ReclaimPlan, *, reason: str, acting: Acting) -> None:
    """Record the consent, with the plan itself.

    `Refused` for a plan that has expired or has nothing to do; `OwnPlan`, audited, where it takes somebody else.
    """
    if acting.now >= plan.expires_at:
        raise Refused(f"plan {plan.digest[:12]} expired at {plan.expires_at:%Y-%m-%d %H:%M} UTC", remedy="plan again")
    if not plan.steps:
        raise Refused(f"plan {plan.digest[:12]} has no steps: everything in it was refused")
    catalog.require(Act.APPROVE, acting.actor, acting.now, about=f"plan {plan.digest[:12]}")
    try:
        with catalog.writing(acting.actor, acting.now) as writing:
            _refuse_without_planner(writing, plan)
            _refuse_planner(writing, plan, acting.actor)
            keep_plan(writing, plan)
            writing.approve(plan.digest, reason=reason)
            audit.append(writing.connection, _entry(acting, AuditAction.PLAN_APPROVE, plan, reason=reason))
    except OwnPlan as refusal:
        with catalog.writing(acting.actor, acting.now) as writing:
            entry = _entry(acting, AuditAction.PLAN_APPROVE_REFUSED, plan, reason=refusal.message)
            audit.append(writing.connection, entry)
        raise


def _refuse_without_planner(writing: Writing, plan: ReclaimPlan) -> None:
    saved = writing.plan(plan.digest)
    if plan.needs_approval and (saved is None or saved.planner is None):
        raise PlannerUnknown(
            f"nobody has put their name to plan {plan.digest[:12]}, so nobody can be somebody else: it was edited, or "
            "made before this catalog asked for that",
            remedy=f"{plan.actor} makes it again: `artifactctl reclaim ... --out FILE` records who did",
        )


def _refuse_planner(writing: Writing, plan: ReclaimPlan, actor: str) -> None:
    saved = writing.plan(plan.digest)
    if not plan.needs_approval or saved is None or saved.planner is None:
        return
    own = Signature(actor=actor, database_user=writing.database_user())
    if is_another(own, saved.planner):
        return
    planner = saved.planner.database_user or saved.planner.actor
    why = f"{planner} planned it, and that may be you: it is the same account, or the same person"
    raise OwnPlan(
        f"you cannot approve plan {plan.digest[:12]}: {'you planned it' if own == saved.planner else why}",
        remedy=f"somebody else must approve it ({'; '.join(plan.needs_approval)})",
    )


def _entry(acting: Acting, action: AuditAction, plan: ReclaimPlan, *, reason: str = "") -> AuditEntry:
    names = ", ".join(step.name for step in plan.steps)
    return acting.entry(
        action,
        artifact=names if len(plan.steps) == 1 else "",
        reason=reason,
        evidence={"plan_digest": plan.digest, "names": names},
        policy_digest=plan.policy_digest,
    )
