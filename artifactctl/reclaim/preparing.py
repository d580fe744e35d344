"""From names, paths or a need to a plan: choosing, looking, planning. Reads catalog and disk, writes nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from artifactctl.capacity.selection import ReclaimCandidate, least_regret
from artifactctl.catalog import Reading
from artifactctl.catalog.indexed_reading import IndexedReading
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.errors import HostFailure, Refused, UsageError
from artifactctl.domain.observation import Observation
from artifactctl.domain.plans import ReclaimPlan
from artifactctl.domain.verdicts import may_remove
from artifactctl.guards import evaluate
from artifactctl.inventory.candidates import Choice, candidate_for
from artifactctl.inventory.giving_up import cost_of
from artifactctl.inventory.machines import as_others_know_it, roots_here
from artifactctl.inventory.rulings import Rulings, ruling_on
from artifactctl.reclaim.planning import Circumstances, Subject, make_plan
from artifactctl.reclaim.recent import past_of
from artifactctl.reclaim.survey import links_to, look, target_of, with_links
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.sizes import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants reclaimed.

    `chosen` are the replicas named; empty means: whatever the policy offers below `scope`, which without roots is the
    whole machine. `need_bytes` asks for the least-regret set that frees so much. `waivers` are checked names of
    waivable guards.
    """

    chosen: tuple[tuple[Artifact, Replica], ...] = ()
    scope: tuple[Root, ...] = ()
    need_bytes: int | None = None
    waivers: tuple[str, ...] = ()
    waiver_reason: str = ""
    purge_now: bool = False


def prepare(workplace: Workplace, wish: Wish, *, looking_at: Callable[[str], None] = lambda name: None) -> ReclaimPlan:
    """Return the plan for a wish; `looking_at` hears each name before its tree is walked."""
    with workplace.catalog.reading() as plain:
        rulings = None if wish.chosen else Rulings(workplace.policy, plain, now=workplace.clock())
        reading = IndexedReading(plain) if rulings is not None and rulings.offers_many else plain
        here = roots_here(reading, workplace.host.identify())
        pairs = wish.chosen if rulings is None else _offered(rulings, reading, wish.scope or here)
        if not pairs:
            raise Refused(
                f"the policy {workplace.policy.name} offers nothing for removal in {_spelt_roots(wish.scope or here)}",
                remedy="name what should go: `artifactctl reclaim NAME --dry-run`; `artifactctl why NAME` explains",
            )
        _one_filesystem(pairs)
        subjects = _subjects(
            workplace,
            reading,
            pairs,
            rulings,
            named=rulings is None,
            looking_at=looking_at,
            purge_at_once=wish.purge_now,
        )
        if wish.need_bytes is not None:
            subjects = _least_regret(workplace, reading, subjects, wish)
        return make_plan(
            subjects,
            guards=workplace.guards,
            policy=workplace.policy,
            circumstances=_circumstances(workplace, reading, pairs[0][1].root, wish),
        )


def judge(workplace: Workplace, artifact: Artifact, replica: Replica) -> Subject:
    """Look at one live replica and return it as a subject, as if it had been named (for `artifactctl why`)."""
    return judge_each(workplace, [(artifact, replica)])[0]


def judge_each(
    workplace: Workplace,
    pairs: Sequence[tuple[Artifact, Replica]],
    *,
    looking_at: Callable[[str], None] = lambda name: None,
) -> list[Subject]:
    """Look at live replicas and return each as a subject of its own, as if it alone had been named."""
    with workplace.catalog.reading() as reading:
        numbers = [artifact.artifact_id for artifact, _ in pairs]
        rulings = Rulings(workplace.policy, reading, now=workplace.clock(), also=numbers)
        return _subjects(workplace, reading, pairs, rulings, named=True, looking_at=looking_at)


def live_replica(artifact: Artifact) -> Replica:
    """Return the one live copy; an error that says where its copies are when there is none or more than one."""
    live = [r for r in artifact.replicas if r.state is ReplicaState.LIVE]
    if len(live) == 1:
        return live[0]
    if not live:
        states = ", ".join(sorted({r.state.value for r in artifact.replicas})) or "nowhere"
        raise Refused(f"{artifact.name} has no live copy: it is {states}", remedy=_remedy_without_copy(artifact))
    raise UsageError(
        f"{artifact.name} has {len(live)} live copies", remedy="name the one you mean by its path; `artifactctl show`"
    )


def _remedy_without_copy(artifact: Artifact) -> str:
    if any(r.state is ReplicaState.QUARANTINED for r in artifact.replicas):
        return f"`artifactctl quarantine purge {artifact.name}` or `artifactctl quarantine restore {artifact.name}`"
    return f"`artifactctl audit ls --artifact {artifact.name}` says what happened to it"


def _one_filesystem(pairs: Sequence[tuple[Artifact, Replica]]) -> None:
    """A plan is bound to one filesystem of a machine: its bytes are measured there; a cloned disk has its UUID too."""
    roots = {(replica.root.host_id, replica.root.filesystem_uuid): replica.root.name for _, replica in pairs}
    if len(roots) > 1:
        raise UsageError(
            f"these lie on {len(roots)} filesystems (below the roots {', '.join(sorted(roots.values()))})",
            remedy="make one plan for each: name a root, as in `artifactctl reclaim ROOT --dry-run`",
        )


def _spelt_roots(roots: Sequence[Root]) -> str:
    names = ", ".join(root.name for root in roots)
    return f"the root{'s' if len(roots) > 1 else ''} {names}" if roots else "any root of this machine"


def _offered(rulings: Rulings, reading: Reading, scope: Sequence[Root]) -> list[tuple[Artifact, Replica]]:
    inside = {root.root_id for root in scope}
    numbers = None if rulings.offers_many else rulings.offered
    artifacts = reading.artifacts(state=ReplicaState.LIVE, numbers=numbers)
    return rulings.under_consideration(artifacts, root_ids=inside)


def _subjects(
    workplace: Workplace,
    reading: Reading,
    pairs: Sequence[tuple[Artifact, Replica]],
    rulings: Rulings | None,
    *,
    named: bool,
    looking_at: Callable[[str], None],
    purge_at_once: bool = False,
) -> list[Subject]:
    host = workplace.host
    fresh = workplace.fresh(reading, pairs)
    targets = [target_of(replica).absolute for _, replica in pairs]
    links, problems = links_to(host, roots_here(reading, host.identify()), targets)
    trust, now = workplace.trust(reading), workplace.clock()
    subjects = []
    for (artifact, replica), target in zip(pairs, targets, strict=True):
        looking_at(artifact.name)
        seen = workplace.asked_everywhere(reading, replica.root, look(host, reading, replica, stamp=workplace.stamp))
        seen = with_links(seen, links, problems, target=target)
        candidate = candidate_for(
            reading,
            artifact,
            replica,
            choice=Choice(named=named, purge_at_once=purge_at_once),
            ruling=ruling_on(workplace.policy, reading, replica, now=now)
            if rulings is None
            else rulings.about(replica),
            fresh=fresh,
            trust=trust,
            now=now,
        )
        sibling, obstacle = _placement(workplace, replica, seen)
        subjects.append(Subject(candidate=candidate, observation=seen, sibling=sibling, obstacle=obstacle))
    return subjects


def _placement(workplace: Workplace, replica: Replica, seen: Observation) -> tuple[bool, str]:
    """Return (sibling folder needed, why no place is possible); what is not there needs no place."""
    if seen.identity is None:
        return False, ""
    try:
        placement = workplace.host.placement(replica.root, target_of(replica))
    except HostFailure as error:
        return False, error.message
    return placement.sibling, "" if placement.possible else placement.detail


def _least_regret(workplace: Workplace, reading: Reading, subjects: Sequence[Subject], wish: Wish) -> list[Subject]:
    """Return the least-regret set of what the guards let through, and after it everything they did not."""
    cleared = [s for s in subjects if _is_cleared(workplace, s, wish)]
    offers = [_as_offer(reading, s) for s in cleared]
    need = wish.need_bytes or 0
    chosen = {offer.name for offer in least_regret(offers, needed=need)}
    if not chosen and need > 0:
        most = sum(offer.freed_bytes for offer in offers)
        raise Refused(
            f"all that may go frees {format_bytes(most)}, {format_bytes(need - most)} short of what is needed",
            remedy="`artifactctl reclaim --dry-run` shows all of it, and what is kept and why",
        )
    order = {offer.name: place for place, offer in enumerate(sorted(offers, key=lambda o: o.regret))}
    taken = sorted(
        (s for s in cleared if s.candidate.artifact.name in chosen), key=lambda s: order[s.candidate.artifact.name]
    )
    return [*taken, *(s for s in subjects if s not in cleared)]


def _is_cleared(workplace: Workplace, subject: Subject, wish: Wish) -> bool:
    evidence = evaluate(workplace.guards, subject.candidate, subject.observation, waivers=wish.waivers)
    return may_remove(evidence) and not subject.obstacle


def _as_offer(reading: Reading, subject: Subject) -> ReclaimCandidate:
    artifact, tree = subject.candidate.artifact, subject.observation.tree
    return ReclaimCandidate(
        name=artifact.name,
        freed_bytes=tree.exclusive_bytes if tree is not None else 0,
        allocated_bytes=tree.allocated_bytes if tree is not None else 0,
        freed_files=tree.files if tree is not None else 0,
        superseded=artifact.superseded_by is not None,
        regenerate_cost=cost_of(reading, artifact),
        created_at=artifact.created_at,
    )


def _circumstances(workplace: Workplace, reading: Reading, root: Root, wish: Wish) -> Circumstances:
    here = as_others_know_it(reading, workplace.host.identify())
    usage = workplace.host.usage(root.path)
    now: datetime = workplace.clock()
    return Circumstances(
        catalog_id=workplace.catalog.lineage_id,
        catalog_epoch=workplace.catalog.epoch,
        machine_id=here.machine_id,
        host_key=here.host_key,
        hostname=here.hostname,
        mount=usage.mount,
        available_bytes=usage.available_bytes,
        actor=workplace.actor,
        now=now,
        waivers=wish.waivers,
        waiver_reason=wish.waiver_reason,
        purge_now=wish.purge_now,
        past=past_of(reading, now=now),
        policy_files=workplace.policy_files,
    )


def with_waivers(wish: Wish, *, waivers: tuple[str, ...], reason: str) -> Wish:
    """Return the wish with what a person gave up in the dialogue."""
    return replace(wish, waivers=waivers, waiver_reason=reason)
