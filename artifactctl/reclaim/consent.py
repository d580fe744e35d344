"""Whether a plan still keeps to the limits when it is applied, and whether whoever must agree to it has.

Approval by a second person is by another account: who shares the planner's account, or stands behind root with the
planner's name, is no second person. In a catalog that is a file it is a speed bump, not security: whoever can write the
file can write an approval. A database server knows who logged in.
"""

from collections.abc import Sequence

from artifactctl.catalog import Catalog, Reading
from artifactctl.domain.accounts import is_another, names_in
from artifactctl.domain.errors import Refused
from artifactctl.domain.ledger import Approval
from artifactctl.domain.plans import ReclaimPlan
from artifactctl.domain.roles import Role
from artifactctl.policy.capping import Load, caps_on, taken_by
from artifactctl.reclaim.bounds import why_approval
from artifactctl.reclaim.recent import past_of
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.caps import spell_exceeded


class CapExceeded(Refused):
    """What is left of the plan goes over a limit: other runs of the day count as well."""


class ApprovalMissing(Refused):
    """Somebody other than the planner must approve the plan, for these reasons, and nobody has.

    `able` are the others who have the role, None where no role is in force. `commands` are what to type, by default for
    a plan in `PLAN.json`.
    """

    def __init__(
        self,
        plan: ReclaimPlan,
        reasons: Sequence[str],
        *,
        able: Sequence[str] | None = None,
        commands: Sequence[str] = (),
    ) -> None:
        typed = commands or ('artifactctl approve PLAN.json --reason "..."', "artifactctl apply PLAN.json")
        who = "somebody else"
        if able:
            who = f"somebody else who may ({', '.join(able)})"
        elif able is not None:
            typed = ("artifactctl role grant approve NAME", *typed)
        super().__init__(
            f"plan {plan.digest[:12]} needs the approval of somebody other than {plan.actor}: {'; '.join(reasons)}",
            remedy=f"{who} approves it, then it can be applied: " + ", then ".join(f"`{each}`" for each in typed),
        )
        self.reasons = tuple(reasons)
        self.able = able


def check_limits(workplace: Workplace, plan: ReclaimPlan, left: Sequence[int]) -> None:
    """Raise `CapExceeded` when the steps `left` go over a limit now, `ApprovalMissing` when somebody must agree."""
    with workplace.catalog.reading() as reading:
        past = past_of(reading, now=workplace.clock(), without=plan.digest)
        over = [cap for cap in caps_on(loads_of(plan, left), workplace.policy.limits, past) if cap.exceeded]
        if over:
            raise CapExceeded(
                f"plan {plan.digest[:12]} is refused as a whole: " + "; ".join(map(spell_exceeded, over)),
                remedy="reclaim fewer at once, or on another day where the limit is one of a day",
            )
        everything = taken_by(loads_of(plan, range(len(plan.steps))))
        reasons = why_approval(everything, workplace.policy.limits, past.last_runs)
        if reasons and approval_by_another(reading, plan) is None:
            raise ApprovalMissing(plan, reasons, able=able_to_approve(reading, plan))


def able_to_approve(reading: Reading, plan: ReclaimPlan) -> tuple[str, ...] | None:
    """Return to whom else than the planner the role was granted, None where no role is in force."""
    grants = reading.grants()
    if not grants:
        return None
    able = (str(grant.subject) for grant in grants if grant.role is Role.APPROVE)
    return tuple(name for name in dict.fromkeys(able) if not names_in(name) & names_in(plan.actor))


def approval_of(catalog: Catalog, plan: ReclaimPlan) -> Approval | None:
    """Return the newest consent to exactly this plan: somebody else's before the planner's own."""
    with catalog.reading() as reading:
        found = reading.approvals(plan.digest)
        return approval_by_another(reading, plan) or (found[-1] if found else None)


def approval_by_another(reading: Reading, plan: ReclaimPlan) -> Approval | None:
    """Return the newest consent to exactly this plan by somebody who is surely not its planner.

    The planner is who the catalog saw saving the plan: what the file says can be edited, and is not in the digest. A
    plan that nobody put their name to is approved by nobody.
    """
    saved = reading.plan(plan.digest)
    if saved is None or saved.planner is None:
        return None
    planner = saved.planner
    return next(
        (item for item in reversed(reading.approvals(plan.digest)) if is_another(item.signature, planner)), None
    )


def loads_of(plan: ReclaimPlan, indexes: Sequence[int]) -> list[Load]:
    """Return what those steps of the plan take."""
    return [
        Load(artifact_id=step.artifact_id, kind=step.kind, allocated_bytes=step.allocated_bytes)
        for step in (plan.steps[index] for index in indexes)
    ]
