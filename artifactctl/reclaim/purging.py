"""Deleting for good what lies in quarantine: steps 8 to 10 of the deletion protocol.

8.  Run every guard again, in the transaction that sets `purging`; a quarantined replica counts as nobody's copy,
    successor or input. Then announce the purge durably, rename to `.purging`, and unlink what the manifest lists.
9.  fsync the parents, journal the outcome (inside `Host.purge`).
10. Write the tombstone.

A purge by name may come at any time; `--expired` takes only what is past its grace, and the engine checks that itself.
"""

from dataclasses import dataclass

from artifactctl.catalog import Reading, Writing
from artifactctl.domain.artifacts import ReplicaState, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.observation import Observation
from artifactctl.domain.operations import JournalEvent, StepOutcome
from artifactctl.domain.results import StepResult
from artifactctl.domain.text import display_path
from artifactctl.domain.verdicts import Evidence, Verdict, may_remove
from artifactctl.guards import evaluate
from artifactctl.guards.wording import first_of
from artifactctl.hosts.protocol import PurgeResult, RootLock
from artifactctl.inventory.candidates import Choice, candidate_for
from artifactctl.inventory.kinship import Freshness
from artifactctl.reclaim.importing import IMPORTED_BY_NOBODY
from artifactctl.reclaim.quarantined import Quarantined
from artifactctl.reclaim.survey import links_to, look_quarantined, target_of, with_links
from artifactctl.reclaim.workplace import Workplace, must_hold, record

PURGEABLE = (ReplicaState.QUARANTINED, ReplicaState.PURGING)
"""States in which a purge can be asked for: of what is in quarantine, or of what is left of a purge that stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeForecast:
    """What every guard says about a purge now, and what it would free."""

    evidence: tuple[Evidence, ...]
    expected_freed_bytes: int = 0


def forecast_purge(workplace: Workplace, item: Quarantined) -> PurgeForecast:
    """Run every guard on what lies in quarantine; writes nothing."""
    refusal = _never(item)
    if refusal is not None:
        return PurgeForecast(evidence=(refusal,))
    if item.replica.state is ReplicaState.PURGING:
        rest = only_what_is_ours(workplace, item.replica.root, item.operation.operation_id)
        return PurgeForecast(evidence=(rest,), expected_freed_bytes=_left_bytes(workplace, item))
    seen = look_before_purge(workplace, item)
    with workplace.catalog.reading() as reading:
        evidence = _judge(workplace, reading, item, seen)
    return PurgeForecast(evidence=evidence, expected_freed_bytes=seen.expected_freed_bytes)


def purge_step(workplace: Workplace, item: Quarantined, *, reason: str, lock: RootLock) -> StepResult:
    """Purge one operation; every expected failure becomes an outcome."""
    refusal = _never(item)
    if refusal is not None:
        return _ended(item, StepOutcome.REFUSED, evidence=(refusal,))
    if item.replica.state is ReplicaState.PURGING:
        return _complete(workplace, item, reason=reason, lock=lock)
    try:
        seen = look_before_purge(workplace, item)
    except HostFailure as error:
        return _ended(item, StepOutcome.FAILED, detail=error.message)
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        evidence = _judge(workplace, writing, item, seen)
        cleared = may_remove(evidence)
        if cleared:
            must_hold(lock, item.replica.root)
            expected = {ReplicaState.QUARANTINED}
            writing.change_state(item.replica.replica_id, expected=expected, to=ReplicaState.PURGING)
            writing.update_operation(item.operation.operation_id, state=JournalEvent.PURGE_INTENDED)
            _record(writing, workplace, item, AuditAction.PURGE_BEGIN, reason, evidence)
    if not cleared:
        return _ended(item, StepOutcome.REFUSED, evidence=evidence)
    try:
        workplace.host.begin_purge(item.replica.root, item.operation.operation_id)
    except HostFailure as error:
        return _ended(item, StepOutcome.FAILED, detail=f"{error.message}; `artifactctl doctor` says what is next")
    return finish_purge(
        workplace, item, reason=reason, evidence=evidence, expected_freed_bytes=seen.expected_freed_bytes
    )


def _complete(workplace: Workplace, item: Quarantined, *, reason: str, lock: RootLock) -> StepResult:
    """Go on with a purge that has begun: nothing is judged again, since only completion is left."""
    must_hold(lock, item.replica.root)
    try:
        expected = _left_bytes(workplace, item)
        workplace.host.begin_purge(item.replica.root, item.operation.operation_id)
    except HostFailure as error:
        return _ended(item, StepOutcome.FAILED, detail=error.message)
    return finish_purge(workplace, item, reason=reason, expected_freed_bytes=expected)


def _left_bytes(workplace: Workplace, item: Quarantined) -> int:
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


def finish_purge(
    workplace: Workplace,
    item: Quarantined,
    *,
    reason: str,
    evidence: tuple[Evidence, ...] = (),
    expected_freed_bytes: int | None = None,
) -> StepResult:
    """Unlink what is left of a purge that has begun, then write the tombstone; recovery enters here.

    `expected_freed_bytes` is what the last look before it came to; without one the plan's prediction stands.
    """
    try:
        result = workplace.host.purge(
            item.replica.root,
            item.operation.operation_id,
            should_stop=workplace.should_stop,
            progress=workplace.progress,
        )
    except HostFailure as error:
        return _ended(item, StepOutcome.FAILED, detail=f"{error.message}; `artifactctl doctor` says what is next")
    if not result.complete:
        return _ended(item, StepOutcome.FAILED, detail=_what_is_left(result))
    with workplace.catalog.writing(workplace.actor, workplace.clock()) as writing:
        writing.change_state(item.replica.replica_id, expected={ReplicaState.PURGING}, to=ReplicaState.GONE)
        writing.update_operation(item.operation.operation_id, state=JournalEvent.PURGED)
        _record(writing, workplace, item, AuditAction.PURGE_DONE, reason, evidence)
    expected = item.operation.expected_freed_bytes if expected_freed_bytes is None else expected_freed_bytes
    return _ended(item, StepOutcome.PURGED, evidence=evidence, expected_freed_bytes=expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen just before a purge: the tree, links to it or its old path, what makes it recoverable."""

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
        places = (target_of(item.replica).absolute, seen.path)  # a link may have followed it into quarantine
        links, problems = links_to(workplace.host, reading.roots(), places)
        fresh = workplace.fresh(reading, [(item.artifact, item.replica)])
    return Look(observation=with_links(seen, links, problems, targets=places), fresh=fresh)


def _judge(workplace: Workplace, reading: Reading, item: Quarantined, look: Look) -> tuple[Evidence, ...]:
    artifact = reading.artifact_by_id(item.artifact.artifact_id) or item.artifact
    replica = next(r for r in artifact.replicas if r.replica_id == item.replica.replica_id)
    candidate = candidate_for(
        reading,
        artifact,
        replica,
        choice=Choice(named=True, planned_fingerprint=item.operation.fingerprint, purging=True),
        policy=workplace.policy,
        fresh=look.fresh,
        trust=workplace.trust(reading),
        now=workplace.clock(),
    )
    return evaluate(workplace.guards, candidate, look.observation, waivers=item.operation.waivers)


def _record(
    writing: Writing,
    workplace: Workplace,
    item: Quarantined,
    action: AuditAction,
    reason: str,
    evidence: tuple[Evidence, ...],
) -> None:
    record(
        writing,
        workplace,
        action,
        artifact=item.artifact.name,
        path=target_of(item.replica).absolute,
        size_bytes=item.replica.allocated_bytes,
        reason=reason or item.operation.reason,
        operation=item.operation.operation_id,
        evidence=evidence,
    )


def _what_is_left(result: PurgeResult) -> str:
    if result.interrupted:
        return "interrupted; the rest is removed by `artifactctl doctor --repair` or the next command on this root"
    left = [display_path(path) for path in result.mismatched]
    parts = [*result.errors, *([f"not as in the manifest, so it was left: {first_of(left)}"] if left else [])]
    return "; ".join(parts) or "something is left"


def _ended(
    item: Quarantined,
    outcome: StepOutcome,
    *,
    evidence: tuple[Evidence, ...] = (),
    detail: str = "",
    expected_freed_bytes: int = 0,
) -> StepResult:
    return StepResult(
        name=item.artifact.name,
        outcome=outcome,
        operation=item.operation.operation_id,
        path=target_of(item.replica).absolute,
        evidence=evidence,
        detail=detail,
        expected_freed_bytes=expected_freed_bytes,
        allocated_bytes=item.replica.allocated_bytes,
    )


def _never(item: Quarantined) -> Evidence | None:
    if item.operation.plan_digest == IMPORTED_BY_NOBODY:
        reason = "this catalog did not order its removal (it was imported from the root's journal): it can be restored"
        return Evidence(guard="in_policy", verdict=Verdict.BLOCKED, reason=reason)
    if item.operation.state is JournalEvent.KEPT:
        reason = "it was in use when it was set aside and its old path is taken: it can only be restored"
        remedy = f"`artifactctl quarantine restore {item.artifact.name} --to PATH`"
        return Evidence(guard="not_held", verdict=Verdict.BLOCKED, reason=reason, remedy=remedy)
    return None
