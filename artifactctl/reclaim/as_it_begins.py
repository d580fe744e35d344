"""The limits once more, in the transaction in which a step of a plan begins.

When a plan was found to be within them, another one may have been as well, which began at the same moment. Writers take
turns, so whoever comes second sees what the first one has begun, and what it still has to do: of two that only together
go over a limit one is carried out whole, and the other one begins nothing.
"""

from dataclasses import replace

from artifactctl.catalog import Reading
from artifactctl.domain.ledger import Taken
from artifactctl.domain.plans import ReclaimPlan
from artifactctl.domain.verdicts import Evidence
from artifactctl.policy.capping import caps_on, taken_by
from artifactctl.reclaim.bounds import within_caps
from artifactctl.reclaim.consent import loads_of
from artifactctl.reclaim.planfile import plan_from_text
from artifactctl.reclaim.recent import midnight_before, past_of
from artifactctl.reclaim.used_steps import steps_begun
from artifactctl.reclaim.workplace import Workplace


def limits_as_it_begins(workplace: Workplace, reading: Reading, plan: ReclaimPlan) -> Evidence:
    """Return what the limits say of all steps not begun, beside everything that others began or still have to do.

    Steps that were refused count as well: what goes over a limit is refused as a whole, never trimmed.
    """
    past = past_of(reading, now=workplace.clock(), without=plan.digest)
    elsewhere = _still_to_come(workplace, reading, plan)
    today = Taken(bytes=past.today.bytes + elsewhere.bytes, artifacts=past.today.artifacts + elsewhere.artifacts)
    begun = steps_begun(reading, plan)
    left = [each for each in range(len(plan.steps)) if each not in begun]
    return within_caps(caps_on(loads_of(plan, left), workplace.policy.limits, replace(past, today=today)))


def _still_to_come(workplace: Workplace, reading: Reading, plan: ReclaimPlan) -> Taken:
    """Return what plans that are being carried out now, in roots which somebody else holds, have not begun yet."""
    now = workplace.clock()
    ours = {root_id for root_id, _ in plan.roots}
    leases = (reading.root_lease(root.root_id) for root in reading.roots() if root.root_id not in ours)
    digests = {
        operation.plan_digest
        for lease in leases
        if lease is not None and lease.is_in_force(now)
        for operation in reading.operations(root_id=lease.root_id)
        if operation.started_at >= max(lease.taken_at, midnight_before(now)) and operation.plan_digest != plan.digest
    }
    loads = []
    for digest in sorted(digests):
        saved = reading.plan(digest)
        if saved is not None:
            other = plan_from_text(saved.document, where=f"plan {digest[:12]} in the catalog")
            begun = steps_begun(reading, other)
            loads += loads_of(other, [each for each in range(len(other.steps)) if each not in begun])
    return taken_by(loads)
