"""What is looked at before a purge, what the guards say to it, and what it would free."""

from dataclasses import dataclass, replace

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import ReplicaState, Root
from artifactctl.domain.observation import Observation
from artifactctl.domain.operations import JournalEvent
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards import evaluate
from artifactctl.inventory.candidates import Choice, candidate_for
from artifactctl.inventory.kinship import Freshness
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.rulings import ruling_on
from artifactctl.reclaim.importing import IMPORTED_BY_NOBODY
from artifactctl.reclaim.quarantined import Quarantined
from artifactctl.reclaim.survey import links_to_quarantined, look_quarantined, target_of
from artifactctl.reclaim.workplace import Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeForecast:
    """What every guard says about a purge now, and what it would free."""

    evidence: tuple[Evidence, ...]
    expected_freed_bytes: int = 0


def forecast_purge(workplace: Workplace, item: Quarantined) -> PurgeForecast:
    """Run every guard on what lies in quarantine; writes nothing."""
    refusal = why_never(item)
    if refusal is not None:
        return PurgeForecast(evidence=(refusal,))
    if item.replica.state is ReplicaState.PURGING:
        rest = only_what_is_ours(workplace, item.replica.root, item.operation.operation_id)
        return PurgeForecast(evidence=(rest,), expected_freed_bytes=left_bytes(workplace, item))
    seen = look_before_purge(workplace, item)
    with workplace.catalog.reading() as reading:
        evidence = judge(workplace, reading, item, seen)
    return PurgeForecast(evidence=evidence, expected_freed_bytes=seen.expected_freed_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen just before a purge: the quarantined tree, links that mean it, what makes it recoverable."""

    observation: Observation
    fresh: Freshness

    @property
    def expected_freed_bytes(self) -> int:
        """What its purge frees now: other names of its files may have come or gone since the plan."""
        tree = self.observation.tree
        return 0 if tree is None else tree.exclusive_bytes


def look_before_purge(workplace: Workplace, item: Quarantined) -> Look:
    """Look at everything a purge rests on; done outside the writing transaction, which only judges."""
    with workplace.catalog.reading() as reading:
        seen = look_quarantined(workplace.host, reading, item.replica, item.operation.operation_id)
        seen = workplace.asked_everywhere(reading, item.replica.root, seen)
        original = target_of(item.replica).absolute
        roots = roots_here(reading, workplace.host.identify())
        links, problems = links_to_quarantined(workplace.host, roots, seen, original=original)
        fresh = workplace.fresh(reading, [(item.artifact, item.replica)])
    return Look(observation=replace(seen, referrers=links, referrer_problems=problems), fresh=fresh)


def judge(workplace: Workplace, reading: Reading, item: Quarantined, look: Look) -> tuple[Evidence, ...]:
    """Run every guard on what was looked at, with what the catalog says in this transaction."""
    artifact = reading.artifact_by_id(item.artifact.artifact_id) or item.artifact
    replica = next(r for r in artifact.replicas if r.replica_id == item.replica.replica_id)
    candidate = candidate_for(
        reading,
        artifact,
        replica,
        choice=Choice(
            named=True,
            planned_fingerprint=item.operation.fingerprint,
            set_aside_at=item.operation.updated_at,
            aside_since=item.operation.aside_since,
        ),
        ruling=ruling_on(workplace.policy, reading, replica, now=workplace.clock()),
        fresh=look.fresh,
        trust=workplace.trust(reading),
        now=workplace.clock(),
    )
    return evaluate(workplace.guards, candidate, look.observation, waivers=item.operation.waivers)


def left_bytes(workplace: Workplace, item: Quarantined) -> int:
    """Return what the rest of a purge that has begun will free."""
    tree = workplace.host.observe_quarantined(item.replica.root, item.operation.operation_id).tree
    return 0 if tree is None else tree.exclusive_bytes


def only_what_is_ours(workplace: Workplace, root: Root, operation: str) -> Evidence:
    """Return whether a purge that has begun can be completed, or what lies there that is not ours to remove."""
    left = workplace.host.left_in_purge(root, operation)
    if not left.count and not left.problem:
        reason = "its purge has begun: only completion is left"
        return Evidence(guard="known_members", verdict=Verdict.CLEAR, reason=reason)
    names = [display_path(path) for path in left.paths]
    more = f" (and {left.count - 3} more)" if left.count > 3 else ""
    what = f"not as in its manifest, so it was left: {', '.join(names[:3])}{more}" if names else left.problem
    return Evidence(
        guard="known_members",
        verdict=Verdict.BLOCKED if names else Verdict.UNKNOWN,
        reason=f"its purge has begun and cannot be completed; {what}",
        facts=tuple(("left", name) for name in names[:20]),
        remedy=f"move it out, then `artifactctl quarantine purge {operation}` (or `artifactctl doctor --repair`)",
    )


def why_never(item: Quarantined) -> Evidence | None:
    """Return why an operation can only be restored, whatever the guards say; None when it may be purged."""
    if item.operation.plan_digest == IMPORTED_BY_NOBODY:
        reason = "this catalog did not order its removal (it was imported from the root's journal): it can be restored"
        return Evidence(guard="in_policy", verdict=Verdict.BLOCKED, reason=reason)
    if item.operation.state is JournalEvent.KEPT:
        reason = "it was in use when it was set aside and its old path is taken: it can only be restored"
        remedy = f"`artifactctl quarantine restore {item.artifact.name} --to PATH`"
        return Evidence(guard="not_held", verdict=Verdict.BLOCKED, reason=reason, remedy=remedy)
    return None
