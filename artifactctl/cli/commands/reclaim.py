"""`reclaim`, `approve`, `apply`: from a wish to a finished removal."""

import click

from artifactctl.cli.options import PATH
from artifactctl.cli.reclaim_choices import ReclaimChoices, reclaim_options
from artifactctl.cli.shared_options import Command, always, unless_dry_run
from artifactctl.cli.which_machine import host_of_plan
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import UsageError


@click.command("reclaim", cls=Command, reasoned=True, changes=unless_dry_run)
@reclaim_options
@click.option("--dry-run", is_flag=True, help="Show the plan and stop; writes nothing at all.")
@click.option("--out", type=PATH, help="Save the plan for review, `approve` and `apply`.")
@click.option("--explain", is_flag=True, help="Show what every guard found, not only what stands in the way.")
@pass_wiring
def reclaim(wiring: Wiring, wanted: ReclaimChoices, out: bytes | None, *, dry_run: bool, explain: bool) -> None:
    """Free space with proof: preview it, or move it to quarantine after a question.

    Without names it takes what the policy offers: where none is configured, what is superseded by a verified successor
    and what can be built again. --policy puts other rules in its place; configured protects and limits hold all the
    same. A quarantine can be restored at any time and frees nothing until it is purged. The URL of a finished copy in
    an object store names that copy: with --purge-now it is removed there, while another verified one is left.
    """
    from artifactctl.cli import reclaim_session
    from artifactctl.cli.reclaiming_stored import names_store, reclaim_stored

    if wanted.need is not None and wanted.for_plan is not None:
        raise UsageError("--need and --for both say how much is needed", remedy="give one of them")
    if names_store(wanted.names):
        reclaim_stored(wiring, wanted, out=out, dry_run=dry_run)
        return
    need = wanted.need
    with reclaim_session.open_session(wiring, wanted) as session:
        if wanted.for_plan is not None:
            need = session.lacking_for(wanted.for_plan)
            if need == 0:
                return
        session.want(need)
        if dry_run or out is not None:
            session.show(out=out, every_guard=explain)
        else:
            session.negotiate_and_carry_out(every_guard=explain)


@click.command("approve", cls=Command, reasoned=True, changes=always)
@click.argument("plan", type=PATH, metavar="PLAN.json")
@pass_wiring
def approve(wiring: Wiring, plan: bytes) -> None:
    """Record your consent to a saved plan; `apply` then asks no more."""
    from artifactctl.cli.reclaiming import read_plan
    from artifactctl.domain.roles import Act
    from artifactctl.reclaim.approving import approve_plan
    from artifactctl.report.reclaim_plan import plan_document

    read = read_plan(plan)
    if not wiring.output.is_json:
        wiring.output.document(plan_document(read))
    wiring.catalog.require(Act.APPROVE, wiring.actor, wiring.now(), about=f"plan {read.digest[:12]}")
    reason = wiring.dialogue.reason("Why is this all right?")
    approve_plan(wiring.catalog, read, reason=reason, acting=wiring.acting)
    wiring.output.answer(
        "approval",
        payload=lambda: {"plan_digest": read.digest, "actor": wiring.actor, "reason": reason},
        text=lambda: ["", f"approved as {wiring.actor}: plan {read.digest[:12]}; `artifactctl apply` carries it out"],
    )


@click.command("apply", cls=Command, reasoned=True, changes=always)
@click.argument("plan", type=PATH, metavar="PLAN.json")
@click.option("--resume", is_flag=True, help="Go on with a plan that was interrupted.")
@pass_wiring
def apply(wiring: Wiring, plan: bytes, *, resume: bool) -> None:
    """Carry out a saved plan, step by step, looking again before each."""
    from artifactctl.cli.reclaiming import carry_out, check_plan, confirm, read_plan
    from artifactctl.reclaim.applying import apply_plan
    from artifactctl.reclaim.consent import approval_of
    from artifactctl.report.reclaim_plan import plan_document

    read = read_plan(plan)
    host = host_of_plan(wiring, read)
    check_plan(wiring, host, read, plan, resume=resume)
    approval = approval_of(wiring.catalog, read)
    if approval is None:
        if not wiring.output.is_json:
            wiring.output.document(plan_document(read))
        reason = wiring.dialogue.reason("Why may it go?", then_confirmed=True)
        confirm(wiring, read)
    else:
        reason = approval.reason
    carry_out(
        wiring,
        host,
        lambda work: apply_plan(work, read, reason=reason, resume=resume),
        named=read.policy_files,
    )
