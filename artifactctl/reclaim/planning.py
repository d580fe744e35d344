"""Deciding what to remove: a pure function of candidates, observations, policy and waivers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from artifactctl.domain.observation import Observation, SharedExtents, TreeSummary
from artifactctl.domain.plans import PLAN_LIFETIME, Bound, ReclaimPlan, ReclaimStep, Refusal
from artifactctl.domain.sharing import SharedInode, freed_with_the_last_name
from artifactctl.domain.verdicts import Evidence, Verdict, may_remove
from artifactctl.guards import Candidate, Guard, evaluate
from artifactctl.guards.company import going_with, kept_as_input, without_protect
from artifactctl.policy.capping import Load, Past, caps_on, taken_by
from artifactctl.policy.ruleset import Policy
from artifactctl.reclaim.bounds import why_approval, within_caps


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One replica under consideration: what the catalog says, what the machine saw, where it could be set aside.

    `obstacle` says why no quarantine place is possible ("" when one is); `sibling` that it would be a sibling folder.
    """

    candidate: Candidate
    observation: Observation
    sibling: bool
    obstacle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a plan is bound to besides its steps, and what the limits look back at."""

    catalog_id: str
    catalog_epoch: int
    machine_id: str
    hostname: str
    mount: bytes
    available_bytes: int
    actor: str
    now: datetime
    waivers: tuple[str, ...]
    waiver_reason: str
    purge_now: bool
    past: Past
    policy_files: tuple[tuple[str, str], ...] = ()
    host_key: str = ""


def make_plan(
    subjects: Sequence[Subject], *, guards: Sequence[Guard], policy: Policy, circumstances: Circumstances
) -> ReclaimPlan:
    """Return the plan for `subjects`: steps in the order given, everything else refused with all its evidence.

    Two rounds, so that nothing in a plan counts on something else in it: the second round evaluates what the first let
    through, with those names marked as going together; what the second refuses is not offered again. What nobody named
    and another step would be built again from stays: the big derived thing goes, its small input does not. A protect
    counts in the second round only, so that it never lets anything else go. Bytes that several steps share by hard
    links are counted once, with the step that takes the last name.
    """
    waivers = circumstances.waivers
    first = [s for s in subjects if may_remove(evidence_about(guards, _with(s, without_protect(s.candidate)), waivers))]
    inputs = kept_as_input(s.candidate for s in first)
    kept = [s for s in first if s.candidate.artifact.name in inputs and s.candidate.protect is None]
    first = [s for s in first if s.candidate.artifact.name not in inputs]
    together = frozenset(s.candidate.artifact.name for s in first)
    judged = [(s, evidence_about(guards, _with(s, going_with(s.candidate, together)), waivers)) for s in subjects]
    through = [(s, e) for s, e in judged if s in first and may_remove(e)]
    loads = [_load(s) for s, _ in through]
    caps = caps_on(loads, policy.limits, circumstances.past)
    cap_evidence = within_caps(caps)
    steps: tuple[ReclaimStep, ...] = ()
    refused = [_refusal(s, e) for s, e in judged if s not in kept and not (s in first and may_remove(e))]
    refused += [_refusal(s, (_needed_by(inputs[s.candidate.artifact.name]),)) for s in kept]
    if cap_evidence.permits_removal:
        shared = freed_with_the_last_name([_shared_inodes(s) for s, _ in through])
        steps = tuple(_step(s, (*e, cap_evidence), more) for (s, e), more in zip(through, shared, strict=True))
    else:
        refused = [_refusal(s, (*e, cap_evidence)) for s, e in through] + refused
    return ReclaimPlan(
        catalog_id=circumstances.catalog_id,
        catalog_epoch=circumstances.catalog_epoch,
        machine_id=circumstances.machine_id,
        host_key=circumstances.host_key,
        hostname=circumstances.hostname,
        mount=circumstances.mount,
        policy_name=policy.name,
        policy_digest=policy.digest,
        policy_files=circumstances.policy_files,
        waivers=waivers,
        waiver_reason=circumstances.waiver_reason if waivers else "",
        purge_now=circumstances.purge_now,
        grace=policy.grace,
        needs_approval=why_approval(taken_by(loads), policy.limits, circumstances.past.last_runs) if steps else (),
        steps=steps,
        refused=tuple(refused),
        caps=caps,
        actor=circumstances.actor,
        created_at=circumstances.now,
        expires_at=circumstances.now + PLAN_LIFETIME,
        available_before_bytes=circumstances.available_bytes,
    )


def _with(subject: Subject, candidate: Candidate) -> Subject:
    return replace(subject, candidate=candidate)


def _load(subject: Subject) -> Load:
    artifact, tree = subject.candidate.artifact, subject.observation.tree
    return Load(
        artifact_id=artifact.artifact_id,
        kind=artifact.kind,
        allocated_bytes=tree.allocated_bytes if tree is not None else subject.candidate.replica.allocated_bytes,
    )


def evidence_about(guards: Sequence[Guard], subject: Subject, waivers: Sequence[str] = ()) -> tuple[Evidence, ...]:
    """Return what every guard says, and that there is no place to set it aside where that is so."""
    evidence = evaluate(guards, subject.candidate, subject.observation, waivers=waivers)
    if not subject.obstacle:
        return evidence
    no_place = Evidence(
        guard="removable", verdict=Verdict.BLOCKED, reason=f"it cannot be set aside: {subject.obstacle}"
    )
    return (*evidence, no_place)


def _needed_by(name: str) -> Evidence:
    return Evidence(
        guard="recoverable",
        verdict=Verdict.BLOCKED,
        reason=f"{name}, which goes in this plan, would be built again from it",
        facts=(("input_of", name),),
        remedy="name it to give it up instead",
    )


def _refusal(subject: Subject, evidence: tuple[Evidence, ...]) -> Refusal:
    tree = subject.observation.tree
    replica = subject.candidate.replica
    return Refusal(
        name=subject.candidate.artifact.name,
        path=subject.observation.path,
        allocated_bytes=tree.allocated_bytes if tree is not None else replica.allocated_bytes,
        exclusive_bytes=tree.exclusive_bytes if tree is not None else replica.allocated_bytes,
        bound=_bound(tree),
        evidence=evidence,
    )


def _bound(tree: TreeSummary | None) -> Bound:
    """Return how sure the exclusive bytes are: a tree that was not seen may share any of its blocks."""
    return Bound.EXACT if tree is not None and tree.shared_extents is SharedExtents.NONE else Bound.UPPER


def _shared_inodes(subject: Subject) -> tuple[SharedInode, ...]:
    return subject.observation.tree.shared_inodes if subject.observation.tree is not None else ()


def _step(subject: Subject, evidence: tuple[Evidence, ...], freed_with_it_bytes: int) -> ReclaimStep:
    artifact, replica = subject.candidate.artifact, subject.candidate.replica
    tree, identity = subject.observation.tree, subject.observation.identity
    if tree is None or identity is None:
        raise ValueError(f"{artifact.name} was cleared without having been seen")
    return ReclaimStep(
        name=artifact.name,
        kind=artifact.kind,
        artifact_id=artifact.artifact_id,
        replica_id=replica.replica_id,
        generation=replica.generation,
        root_id=replica.root.root_id,
        root_path=replica.root.path,
        relative=replica.relative,
        filesystem_uuid=replica.root.filesystem_uuid,
        identity=identity,
        fingerprint=tree.fingerprint,
        files=tree.files,
        apparent_bytes=tree.apparent_bytes,
        allocated_bytes=tree.allocated_bytes,
        exclusive_bytes=tree.exclusive_bytes + freed_with_it_bytes,
        bound=_bound(tree),
        sibling=subject.sibling,
        evidence=evidence,
    )
