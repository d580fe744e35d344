"""Whether a plan as a whole may be applied here and now."""

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import Refused
from artifactctl.domain.plans import ReclaimPlan
from artifactctl.domain.roles import Act
from artifactctl.guards.standard import check_waivers
from artifactctl.inventory.machines import roots_here
from artifactctl.reclaim.consent import check_limits
from artifactctl.reclaim.used_steps import steps_begun
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.caps import spell_exceeded


class StalePlan(Refused):
    """The plan cannot be applied: expired, spent, of another machine, catalog, root or policy."""


def check_applicable(workplace: Workplace, plan: ReclaimPlan, *, resume: bool) -> None:
    """Raise `StalePlan` with the reason when the plan as a whole may not be applied here and now.

    `CapExceeded` and `ApprovalMissing` where limits or a missing consent refuse it.
    """
    again = "make a new plan with `artifactctl reclaim`"
    here = workplace.host.identify()
    now = workplace.clock()
    short = plan.digest[:12]
    if not here.has(plan.machine_id, plan.host_key):
        raise StalePlan(
            f"plan {short} was made for {_machine(plan.hostname, plan.machine_id, plan.host_key)}, "
            f"this is {_machine(here.hostname, here.machine_id, here.host_key)}",
            remedy=again,
        )
    if plan.catalog_id != workplace.catalog.lineage_id:
        raise StalePlan(f"plan {short} was made with another catalog", remedy="name that one with --catalog")
    if now >= plan.expires_at:
        raise StalePlan(f"plan {short} expired at {plan.expires_at:%Y-%m-%d %H:%M} UTC", remedy=again)
    if plan.policy_digest != workplace.policy.digest:
        raise StalePlan(
            f"plan {short} was made under another policy than the one in force: what is configured has changed, or a "
            "variable names other policy files",
            remedy=again,
        )
    if plan.exceeded_caps:
        raise StalePlan(f"plan {short} is refused as a whole: {spell_exceeded(plan.exceeded_caps[0])}", remedy=again)
    check_waivers(plan.waivers)
    if not plan.steps:
        raise StalePlan(f"plan {short} has no steps: everything in it was refused", remedy="`artifactctl why NAME`")
    for act in acts_of(plan):
        workplace.require(act, about=f"plan {short}")
    plan_roots(workplace, plan)
    check_limits(workplace, plan, steps_to_do(workplace, plan, resume=resume))


def _machine(name: str, machine_id: str, host_key: str) -> str:
    key = f", host key {host_key}" if host_key else ""
    return f"the machine {name} (machine id {machine_id}{key})"


def acts_of(plan: ReclaimPlan) -> tuple[Act, ...]:
    """Return what carrying the plan out comes to, each of which takes a role where roles are in force."""
    return (Act.SET_ASIDE, Act.PURGE) if plan.purge_now else (Act.SET_ASIDE,)


def plan_roots(workplace: Workplace, plan: ReclaimPlan) -> tuple[Root, ...]:
    """Return the plan's roots as the catalog knows them; `StalePlan` where root and plan disagree."""
    with workplace.catalog.reading() as reading:
        here = {root.root_id: root for root in roots_here(reading, workplace.host.identify())}
        roots = []
        for root_id, path in plan.roots:
            root = here.get(root_id)
            if root is None or root.path != path:
                raise StalePlan(
                    f"plan {plan.digest[:12]} was made for a root that this catalog does not have there",
                    remedy="`artifactctl root ls` shows the roots; make a new plan",
                )
            roots.append(root)
    return tuple(roots)


def steps_to_do(workplace: Workplace, plan: ReclaimPlan, *, resume: bool) -> tuple[int, ...]:
    """Return the indexes of the steps that were not begun; `StalePlan` when some were and `resume` is false."""
    with workplace.catalog.reading() as reading:
        used = steps_begun(reading, plan)
    left = tuple(index for index in range(len(plan.steps)) if index not in used)
    if used and not resume:
        raise StalePlan(
            f"plan {plan.digest[:12]} was applied already (steps done: {len(used)} of {len(plan.steps)})",
            remedy="`artifactctl apply PLAN --resume` finishes an interrupted one; otherwise make a new plan",
        )
    return left
