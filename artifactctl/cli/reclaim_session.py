"""One run of `artifactctl reclaim`: what is wanted, the plan, the questions, the act."""

import json
import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from artifactctl.cli.policy_choice import texts_named
from artifactctl.cli.reclaim_choices import ReclaimChoices
from artifactctl.cli.reclaiming import Negotiation, carry_out, confirm, workplace_of
from artifactctl.cli.saving import save_text
from artifactctl.cli.which_machine import host_of_capacity_plan, machines_of_roots, one_machine, place_meant
from artifactctl.cli.wiring import Wiring
from artifactctl.domain.errors import ExitCode, Refused, UsageError

if TYPE_CHECKING:
    from artifactctl.domain.artifacts import Root
    from artifactctl.domain.plans import ReclaimPlan
    from artifactctl.domain.results import OperationResult
    from artifactctl.hosts.protocol import Host
    from artifactctl.inventory.places import Place
    from artifactctl.reclaim.adopting import Adoption
    from artifactctl.reclaim.wishing import Targets
    from artifactctl.reclaim.workplace import Workplace


def open_session(wiring: Wiring, wanted: ReclaimChoices) -> "ReclaimSession":
    """Return the session for what the words mean; a path that nobody registered is adopted in memory only."""
    from artifactctl.guards.standard import check_waivers

    waivers = check_waivers(word.strip() for word in wanted.waive.split(",") if word.strip())
    reason = wiring.choices.reason or ""
    if waivers and not reason.strip():
        raise UsageError("a waiver needs a reason", remedy='add --reason "why it is all right"')
    return ReclaimSession(wiring, wanted, waivers=waivers, reason=reason.strip())


class ReclaimSession:
    """Holds the wish and the workplace of one command; nothing is written before the person agreed."""

    def __init__(self, wiring: Wiring, wanted: ReclaimChoices, *, waivers: tuple[str, ...], reason: str) -> None:
        self._wiring = wiring
        self._wanted = wanted
        self._names, self._on = wanted.names, wanted.on
        self._policy = texts_named(wiring, wanted.policy)
        self._waivers, self._reason, self._purge_now = waivers, reason, wanted.purge_now
        self._stack = ExitStack()
        self._adoption: Adoption | None = None

    def __enter__(self) -> Self:
        from artifactctl.reclaim.preparing import Wish
        from artifactctl.reclaim.wishing import targets_of

        if self._wiring.catalog_if_any is None and self._names_are_paths():
            self._adopt([self._place(word) for word in self._names])
            return self
        with self._wiring.catalog.reading() as reading:
            targets = targets_of(reading, self._names, here=self._wiring.here, exists=self._exists)
        if targets.unregistered:
            self._adopt(targets.unregistered)
            return self
        self._host = self._machine_of(targets)
        self._work = workplace_of(self._wiring, host=self._host, named=self._policy)
        self._wish = Wish(
            chosen=targets.chosen,
            scope=targets.scope,
            waivers=self._waivers,
            waiver_reason=self._reason,
            purge_now=self._purge_now,
        )
        return self

    def _machine_of(self, targets: "Targets") -> "Host":
        """Return the one machine of what was named; without names that of --for, of --host, or the usual one."""
        from artifactctl.inventory.machine_choice import acting_machine

        wiring, roots = self._wiring, targets.roots()
        with wiring.reading_if_any() as reading:
            if roots:
                meant = acting_machine(reading, here=wiring.here, only=self._on) if self._on else None
                machines = machines_of_roots(wiring, roots)
                if self._on and machines != (meant,):
                    raise UsageError(f"what was named is not on {self._on}", remedy="leave --host away")
                return one_machine(wiring, machines, what="these")
            if self._wanted.for_plan is not None and not self._on:
                return host_of_capacity_plan(wiring, self._wanted.for_plan)
            return wiring.fleet.reach(acting_machine(reading, here=wiring.here, only=self._on))

    def _place(self, word: str) -> "Place":
        return place_meant(self._wiring, word)

    def _exists(self, place: "Place") -> bool:
        if place.machine is None and not self._wiring.is_linux:
            return False
        return self._wiring.fleet.reach(place.machine).identity(place.path) is not None

    def _names_are_paths(self) -> bool:
        return bool(self._names) and all(self._exists(self._place(word)) for word in self._names)

    def _adopt(self, places: "Sequence[Place]") -> None:
        """Plan for paths that nobody registered, on a copy of the catalog: nothing is written yet."""
        from artifactctl.inventory.homes import homes_of
        from artifactctl.reclaim.adopting import adopt
        from artifactctl.reclaim.preparing import Wish

        if len(places) != len(self._names):
            raise UsageError("some of these are registered and some are not", remedy="reclaim them in two commands")
        wiring = self._wiring
        self._host = one_machine(wiring, tuple(dict.fromkeys(place.machine for place in places)), what="these")
        adoption = adopt(
            self._host,
            wiring.catalog_if_any,
            [place.path for place in places],
            homes=homes_of(self._host),
            acting=wiring.acting_on(self._host),
        )
        self._adoption = self._stack.enter_context(adoption)
        self._work = workplace_of(wiring, catalog=self._adoption.catalog, host=self._adoption.host, named=self._policy)
        self._wish = Wish(
            chosen=self._adoption.chosen,
            waivers=self._waivers,
            waiver_reason=self._reason,
            purge_now=self._purge_now,
        )

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    # --- what is wanted ------------------------------------------------------------------------------------------

    def lacking_for(self, path: bytes) -> int:
        """Return what a saved capacity plan lacks now; says so when that is nothing."""
        from artifactctl.inventory.lacking import lacking_now
        from artifactctl.report.json_values import json_path
        from artifactctl.report.sizes import format_bytes

        plan, lacking = lacking_now(self._work.host, self._work.catalog, path, now=self._wiring.now())
        if lacking == 0:
            self._wiring.output.answer(
                "reclaim-plan",
                payload=lambda: {
                    "plan_digest": None,
                    "host": self._work.host.identify().hostname,
                    **json_path(plan.mount, key="volume"),
                    "needed_bytes": 0,
                    "expected_freed_bytes": 0,
                    "freed_now_bytes": 0,
                    "freed_after_purge_bytes": 0,
                    "steps": [],
                    "refused": [],
                    "caps": [],
                    "waived": [],
                },
                text=lambda: [
                    f"Nothing needs to be deleted: {format_bytes(plan.peak_bytes)} fit, with room to spare. "
                    "See `artifactctl plan` for the figures."
                ],
            )
        else:
            self._wish = replace(self._wish, scope=self._roots_on(plan.filesystem_uuid))
        return lacking

    def want(self, need_bytes: int | None) -> None:
        """Ask for the least-regret set that frees so much; None asks for all that was named or is offered."""
        self._wish = replace(self._wish, need_bytes=need_bytes)

    def _roots_on(self, filesystem_uuid: str) -> "tuple[Root, ...]":
        from artifactctl.inventory.machines import roots_on_volume

        with self._work.catalog.reading() as reading:
            roots = roots_on_volume(reading, self._host.identify(), filesystem_uuid)
        if not roots:
            raise Refused(
                "no managed root lies on the volume of that plan, so nothing there may be reclaimed",
                remedy="`artifactctl root add PATH` and `artifactctl scan` make it manageable",
            )
        return roots

    # --- what would happen, and what does ------------------------------------------------------------------------

    def show(self, *, out: bytes | None, every_guard: bool) -> None:
        """Print the plan, save it where asked, and end with 4 when nothing in it may go."""
        from artifactctl.reclaim.approving import record_plan

        plan = self._plan()
        if out is not None and self._adoption is not None:
            raise UsageError(
                "a plan for a path that nobody registered cannot be saved: registering it is part of applying it",
                remedy="register it first (`artifactctl root add`, `artifactctl scan`), or leave --out away",
            )
        if out is not None and plan.steps:
            record_plan(self._work.catalog, plan, acting=self._wiring.acting)
            self._save(plan, out)
        self._print(plan, every_guard=every_guard)
        if out is not None and not plan.steps:
            self._wiring.output.note("not saved: there is nothing in it to carry out")
        if not plan.steps:
            raise SystemExit(int(ExitCode.REFUSED))

    def negotiate_and_carry_out(self, *, every_guard: bool) -> None:
        """Show the plan, ask what must be asked, then do it and print what happened."""
        plan = self._plan()
        talk = Negotiation(wiring=self._wiring, host=self._host, wish=self._wish)
        if not plan.steps:
            self._print_unless_json(plan, every_guard=every_guard)
            given_up = talk.ask_for_waivers(plan)
            if given_up is None:
                self._refuse(plan)
            else:
                self._wish = given_up
                plan = self._plan()
        purging = talk.offer_purge(plan)
        if purging is not None:
            self._wish = purging
            plan = self._plan()
        self._print_unless_json(plan, every_guard=every_guard)
        if not plan.steps:
            self._refuse(plan)
        self._require_roles(plan)
        self._require_approval(plan)
        reason = self._wish.waiver_reason or self._wiring.dialogue.reason("Why may it go?", then_confirmed=True)
        confirm(self._wiring, plan)
        final = self._register_and_plan_again(plan)
        carry_out(self._wiring, self._host, lambda work: self._apply(work, final, reason=reason), named=self._policy)

    def _require_roles(self, plan: "ReclaimPlan") -> None:
        """Refuse before anything is asked whoever may not do this; the engine asks again in its transactions."""
        from artifactctl.domain.roles import Act
        from artifactctl.reclaim.applicability import acts_of

        catalog = self._wiring.catalog_if_any
        if catalog is not None:
            for act in (Act.PLAN, *acts_of(plan)):
                catalog.require(act, self._wiring.actor, self._wiring.now(), about=f"plan {plan.digest[:12]}")

    def _require_approval(self, plan: "ReclaimPlan") -> None:
        """Refuse a plan that somebody else must approve and nobody has, with the commands that lead there."""
        from artifactctl.reclaim.consent import ApprovalMissing, able_to_approve, approval_by_another

        if not plan.needs_approval:
            return
        with self._work.catalog.reading() as reading:
            if approval_by_another(reading, plan) is not None:
                return
            able = able_to_approve(reading, plan)
        same = self._wanted.retyped(reason=self._reason, catalog=self._wiring.choices.catalog)
        saving = f"{same} --out plan.json"
        approving = ('artifactctl approve plan.json --reason "..."', "artifactctl apply plan.json")
        raise ApprovalMissing(plan, plan.needs_approval, able=able, commands=(saving, *approving))

    def _apply(self, work: "Workplace", plan: "ReclaimPlan", *, reason: str) -> "OperationResult":
        """Carry the plan out; whatever was named and is refused counts as a refused step."""
        from artifactctl.reclaim.applying import apply_plan, with_refusals

        result = apply_plan(work, plan, reason=reason)
        everything_was_named = bool(self._wish.chosen) and self._wish.need_bytes is None
        return with_refusals(result, plan) if everything_was_named else result

    def _register_and_plan_again(self, shown: "ReclaimPlan") -> "ReclaimPlan":
        """Register for good what was tried out; what the person agreed to must still be what is there."""
        if self._adoption is None:
            return shown
        wiring = self._wiring
        catalog = wiring.catalog_if_any or wiring.start_catalog().catalog
        self._work = workplace_of(wiring, catalog=catalog, host=self._host, named=self._policy)
        chosen = self._adoption.make_real(self._host, catalog, acting=wiring.acting_on(self._host))
        self._wish = replace(self._wish, chosen=chosen)
        plan = self._plan()
        if not plan.steps:
            self._print_unless_json(plan, every_guard=False)
            self._refuse(plan)
        if _targets(plan) != _targets(shown):
            raise Refused("it changed while you were asked; nothing was removed", remedy="run the command again")
        return plan

    def _plan(self) -> "ReclaimPlan":
        from artifactctl.reclaim.preparing import prepare

        return prepare(self._work, self._wish)

    def _print(self, plan: "ReclaimPlan", *, every_guard: bool, preview: bool = True) -> None:
        from artifactctl.reclaim.planfile import plan_to_json
        from artifactctl.report.reclaim_plan import plan_document

        self._wiring.output.answer(
            "reclaim-plan",
            payload=lambda: plan_to_json(plan),
            text=lambda: plan_document(plan, every_guard=every_guard, preview=preview or not plan.steps),
        )

    def _print_unless_json(self, plan: "ReclaimPlan", *, every_guard: bool) -> None:
        if not self._wiring.output.is_json:
            self._print(plan, every_guard=every_guard, preview=False)

    def _refuse(self, plan: "ReclaimPlan") -> None:
        from artifactctl.reclaim.applying import nothing_done
        from artifactctl.reclaim.planfile import plan_to_json
        from artifactctl.report.operation import operation_payload

        if self._wiring.output.is_json:
            outcome = operation_payload(nothing_done(self._work, plan))
            also = {
                key: value for key, value in plan_to_json(plan).items() if key in ("plan_digest", "refused", "caps")
            }
            self._wiring.output.json("operation", {**outcome, **also})
        raise SystemExit(int(ExitCode.REFUSED))

    def _save(self, plan: "ReclaimPlan", out: bytes) -> None:
        from artifactctl.reclaim.planfile import plan_to_json

        save_text(out, json.dumps(plan_to_json(plan), indent=2) + "\n")
        file = shlex.quote(os.fsdecode(out))
        then = f"`artifactctl apply {file}` carries it out within 24 h"
        if plan.needs_approval:
            then = f'somebody else approves it (`artifactctl approve {file} --reason "..."`), then {then}'
        self._wiring.output.note(f"saved; {then}")


def _targets(plan: "ReclaimPlan") -> list[tuple[object, ...]]:
    return [(step.path, step.identity, step.fingerprint) for step in plan.steps]
