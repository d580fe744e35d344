"""What the commands around removal share: the workplace, the questions, and where a plan file is read."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from artifactctl.cli.interrupt import stopping
from artifactctl.cli.policy_choice import policy_for
from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import UsageError
from artifactctl.domain.verdicts import Verdict

if TYPE_CHECKING:
    from artifactctl.catalog import Catalog
    from artifactctl.configuration.policy_in_force import PolicyTexts
    from artifactctl.domain.plans import ReclaimPlan, Refusal
    from artifactctl.domain.results import OperationResult
    from artifactctl.hosts.protocol import Host
    from artifactctl.policy.ruleset import Policy
    from artifactctl.reclaim.preparing import Wish
    from artifactctl.reclaim.workplace import Workplace

FULL_ENOUGH_TO_PURGE = 0.85
"""How full a volume is when the dialogue offers to purge at once, since a quarantine frees nothing."""


def workplace_of(
    wiring: Wiring,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    catalog: "Catalog | None" = None,
    host: "Host",
    named: "PolicyTexts" = (),
    policy: "Policy | None" = None,
) -> "Workplace":
    """Return what the engine works with on one machine; `catalog` stands in for the real one in a trial.

    `named` are the policy files of this run; `policy` is given where a command must work whatever the policy says.
    """
    from artifactctl.reclaim.workplace import Workplace

    return Workplace(
        catalog=catalog or wiring.catalog,
        host=host,
        elsewhere=wiring.fleet.of_root,
        policy=policy or policy_for(wiring, named),
        policy_files=named,
        clients=wiring.clients,
        actor=wiring.actor,
        clock=wiring.now,
        new_operation=lambda: f"{wiring.now():%Y%m%d}-{secrets.token_hex(4)}",
        say=wiring.output.note,
        should_stop=should_stop,
    )


def read_plan(path: bytes) -> "ReclaimPlan":
    """Read a plan file once; what is applied is what was read."""
    from artifactctl.domain.text import display_path
    from artifactctl.reclaim.planfile import plan_from_text

    shown = display_path(path)
    try:
        text = Path(path.decode("utf-8", "surrogateescape")).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(
            f"the plan {shown} cannot be read: {reason}", remedy="`artifactctl reclaim --out FILE` writes one"
        ) from error
    return plan_from_text(text, where=shown)


def check_plan(wiring: Wiring, host: "Host", plan: "ReclaimPlan", path: bytes, *, resume: bool) -> None:
    """Raise with the reason, and with what to type about this very file, when a plan may not be applied."""
    import os
    import shlex

    from artifactctl.configuration.policy_files import changed_since
    from artifactctl.reclaim.applicability import StalePlan, check_applicable
    from artifactctl.reclaim.consent import ApprovalMissing

    changed = changed_since(plan.policy_files, working_directory=wiring.surroundings.working_directory)
    if changed:
        raise StalePlan(
            f"plan {plan.digest[:12]} was made under {changed}",
            remedy="make a new plan with `artifactctl reclaim --policy`",
        )
    file = shlex.quote(os.fsdecode(path))
    try:
        check_applicable(workplace_of(wiring, host=host, named=plan.policy_files), plan, resume=resume)
    except ApprovalMissing as missing:
        commands = (f'artifactctl approve {file} --reason "..."', f"artifactctl apply {file}")
        raise ApprovalMissing(plan, missing.reasons, able=missing.able, commands=commands) from None


def carry_out(
    wiring: Wiring,
    host: "Host",
    work: Callable[["Workplace"], "OperationResult"],
    *,
    named: "PolicyTexts" = (),
    policy: "Policy | None" = None,
) -> None:
    """Run an operation on one machine, stopping cleanly on a signal; print what it did, leave with its exit code."""
    with stopping() as request:
        result = work(workplace_of(wiring, host=host, should_stop=request, named=named, policy=policy))
    answer_operation(wiring, result)


def answer_operation(wiring: Wiring, result: "OperationResult") -> None:
    """Print what an operation did and leave with its exit code."""
    from artifactctl.report.operation import operation_document, operation_payload

    wiring.output.answer(
        "operation", payload=lambda: operation_payload(result), text=lambda: operation_document(result)
    )
    raise SystemExit(int(result.exit_code))


@dataclass(slots=True, kw_only=True)
class Negotiation:
    """The dialogue before a removal: what must be given up is asked in words, one artifact at a time."""

    wiring: Wiring
    host: "Host"
    wish: "Wish"
    agreed: list[str] = field(default_factory=list)

    def ask_for_waivers(self, plan: "ReclaimPlan") -> "Wish | None":
        """Return the wish with what the person gives up, None when nothing can or will be."""
        from artifactctl.guards import WAIVABLE
        from artifactctl.report.sizes import format_bytes

        if not self.wiring.dialogue.has_terminal:
            return None
        open_to_waiver = [item for item in plan.refused if {e.guard for e in item.blocking} <= set(WAIVABLE)]
        if not open_to_waiver or len(open_to_waiver) < len(plan.refused):
            return None
        waivers = set(self.wish.waivers)
        for item in open_to_waiver:
            self._ask(item, format_bytes(item.allocated_bytes))
            waivers |= {e.guard for e in item.blocking}
        reason = self.wiring.dialogue.reason("Why is that all right?")
        self.wish = replace(self.wish, waivers=tuple(g for g in WAIVABLE if g in waivers), waiver_reason=reason)
        return self.wish

    def _ask(self, item: "Refusal", size: str) -> None:
        said = "; ".join(e.reason for e in item.blocking)
        self.wiring.dialogue.typed(
            f"{item.name}: {said}.",
            size,
            yes_counts=False,
            otherwise=f"add --waive {','.join(e.guard for e in item.blocking)} --reason TEXT",
        )

    def offer_purge(self, plan: "ReclaimPlan") -> "Wish | None":
        """Return the wish with `purge_now` when the volume is nearly full and the person wants that.

        What goes on a statement about other machines cannot be purged at once: it is not offered.
        """
        usage = self.host.usage(plan.mount)
        full = 1 - usage.available_bytes / max(usage.size_bytes, 1)
        attested = any(e.verdict is Verdict.ATTESTED for step in plan.steps for e in step.evidence)
        if plan.purge_now or attested or full < FULL_ENOUGH_TO_PURGE or not self.wiring.dialogue.has_terminal:
            return None
        question = f"The volume is {full:.0%} full and a quarantine frees nothing. Purge at once, without a way back?"
        return replace(self.wish, purge_now=True) if self.wiring.dialogue.agrees(question) else None


def confirm(wiring: Wiring, plan: "ReclaimPlan") -> None:
    """Ask for the typed confirmation: a purge is confirmed with the plan's own short name."""
    from artifactctl.report.sizes import counted, format_bytes

    what = f"{counted(len(plan.steps), 'artifact')} ({format_bytes(sum(s.allocated_bytes for s in plan.steps))})"
    if plan.purge_now:
        wiring.dialogue.typed(f"Purge {what} for good?", plan.digest[:8])
    else:
        wiring.dialogue.typed(f"Move {what} to quarantine?", "quarantine")
