"""A reclaim plan as a person reads it: what would go, what stays and why, and what the disk will say."""

from artifactctl.domain.plans import Bound, ReclaimPlan, ReclaimStep, Refusal
from artifactctl.domain.text import display_path, printable, shown_path
from artifactctl.domain.verdicts import Verdict
from artifactctl.guards.attested import grace_on
from artifactctl.report.caps import spell_exceeded
from artifactctl.report.evidence import evidence_lines, refusal_lines
from artifactctl.report.sizes import counted, format_bytes, format_bytes_both, format_duration
from artifactctl.report.tables import Document


def plan_document(plan: ReclaimPlan, *, every_guard: bool = False, preview: bool = True) -> Document:
    """Return the plan as lines; `every_guard` adds what each guard found about what would go.

    `preview`: nothing follows; otherwise a question does.
    """
    head = f"reclaim plan {plan.digest[:12]}" + (": nothing has been changed" if preview else "")
    lines: list[str] = [head, ""]
    for step in plan.steps:
        lines += _step_lines(plan, step, every_guard=every_guard)
    for item in plan.refused:
        lines += _refusal_lines(item)
    lines += ["", *_outcome_lines(plan), *_conditions(plan)]
    return ["\n".join(lines)]


def _step_lines(plan: ReclaimPlan, step: ReclaimStep, *, every_guard: bool) -> list[str]:
    verb = "purge" if plan.purge_now else "quarantine"
    lines = [
        f"  - {verb}  {printable(step.name)}  ({step.kind.value}, {counted(step.files, 'file')}, "
        f"{format_bytes(step.allocated_bytes)})",
        f"      {shown_path(plan.elsewhere, step.path)}",
    ]
    shared = step.allocated_bytes - step.exclusive_bytes
    if shared > 0:
        lines.append(
            f"      {format_bytes(shared)} of it has other names and stays on disk until the last of them goes"
        )
    if step.bound is Bound.UPPER:
        lines.append("      at most: blocks may be shared with snapshots or reflink copies, or be compressed")
    waived = [item for item in step.evidence if item.waived]
    lines += [f"      waived {item.guard}: {printable(item.reason)}" for item in waived]
    lines += [f"      {printable(item.reason)}" for item in step.evidence if item.verdict is Verdict.ATTESTED]
    if every_guard:
        lines += evidence_lines(step.evidence, indent="      ")
    return lines


def _refusal_lines(item: Refusal) -> list[str]:
    return [
        f"  ! keep        {printable(item.name)}  ({format_bytes(item.allocated_bytes)})",
        *refusal_lines(item.evidence, indent="      "),
    ]


def _conditions(plan: ReclaimPlan) -> list[str]:
    """Return under which policy files it stands, which limits refuse it, and who else must agree."""
    lines = []
    if plan.policy_files:
        files = (name for name, _ in plan.policy_files if not name.endswith("/"))
        names = ", ".join(display_path(name.encode("utf-8", "surrogateescape")) for name in files)
        lines.append(f"Under the policy {printable(plan.policy_name)} ({names}), named for this run.")
    if plan.exceeded_caps:
        lines.append("The whole run would be refused: " + "; ".join(map(spell_exceeded, plan.exceeded_caps)) + ".")
    if plan.needs_approval:
        lines.append(f"Somebody other than {printable(plan.actor)} must approve it: {'; '.join(plan.needs_approval)}.")
    return lines


def _outcome_lines(plan: ReclaimPlan) -> list[str]:
    if not plan.steps:
        kept = counted(len(plan.refused), "artifact is", "artifacts are")
        return [f"Nothing would go: {kept} kept for the reasons above."]
    freed = plan.expected_freed_bytes
    bound = "up to " if any(step.bound is Bound.UPPER for step in plan.steps) else ""
    amount = f"{bound}{format_bytes_both(freed)}"
    mount = shown_path(plan.elsewhere, plan.mount)
    grace = grace_on(tuple(item for step in plan.steps for item in step.evidence), plan.grace)
    if plan.purge_now:
        said = [f"Frees {amount} on {mount} at once."]
    else:
        said = [
            "Frees nothing yet: a quarantine keeps the bytes on the same volume.",
            f"The purge, due in {format_duration(grace)}, frees {amount} on {mount}.",
        ]
    now, then = format_bytes(plan.available_before_bytes), format_bytes(plan.available_before_bytes + freed)
    return [*said, f"Available there: {now} now, {then} afterwards."]
