"""Why an artifact may go or stays, in whatever state it is."""

from collections.abc import Sequence

from artifactctl import audit
from artifactctl.catalog import Catalog, Reading
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState
from artifactctl.domain.audit import AuditAction, AuditEvent
from artifactctl.domain.roles import Act
from artifactctl.domain.verdicts import Evidence, Verdict, may_remove
from artifactctl.guards import WAIVABLE
from artifactctl.inventory.machines import roots_here
from artifactctl.reclaim.before_purge import forecast_purge
from artifactctl.reclaim.planning import evidence_about
from artifactctl.reclaim.preparing import judge_each
from artifactctl.reclaim.quarantined import in_quarantine
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.instants import format_instant
from artifactctl.report.why import WhyAnswer


def copies_to_judge(artifact: Artifact) -> tuple[Replica, ...]:
    """Return the live copies, else those in quarantine; () when it is nowhere any more (`explain_absence`)."""
    live = tuple(r for r in artifact.replicas if r.state is ReplicaState.LIVE)
    return live or tuple(r for r in artifact.replicas if r.state is ReplicaState.QUARANTINED)


def explain_artifact(workplace: Workplace, artifact: Artifact) -> WhyAnswer:
    """Judge the copies on the machine at hand: the live ones (every one must be clear), else what is in quarantine."""
    with workplace.catalog.reading() as reading:
        here = {root.root_id for root in roots_here(reading, workplace.host.identify())}
    mine = [r for r in copies_to_judge(artifact) if r.root.root_id in here]
    live = [r for r in mine if r.state is ReplicaState.LIVE]
    if live:
        subjects = judge_each(workplace, [(artifact, replica) for replica in live])
        evidence = tuple(item for subject in subjects for item in evidence_about(workplace.guards, subject))
        may_go = may_remove(evidence)
        first = f"artifactctl reclaim {artifact.name} --dry-run" if may_go else ""
        unless = _not_permitted(workplace, Act.SET_ASIDE) if may_go else ""
        return _answer(artifact, evidence, standing="", first=(first, unless))
    with workplace.catalog.reading() as reading:
        aside = [item for item in in_quarantine(reading) if item.replica in mine]
    if not aside:
        return explain_absence(workplace.catalog, artifact)
    evidence = forecast_purge(workplace, aside[0]).evidence
    first = f"artifactctl quarantine restore {artifact.name}"
    then = (first, _not_permitted(workplace, Act.PURGE))
    return _answer(artifact, evidence, standing="it is in quarantine", first=then)


def explain_absence(catalog: Catalog, artifact: Artifact) -> WhyAnswer:
    """Say where an artifact went that has no copy to judge; no machine is asked."""
    reason = _where_it_went(catalog, artifact)
    evidence = (Evidence(guard="confined", verdict=Verdict.BLOCKED, reason=reason),)
    return _answer(artifact, evidence, standing=reason, first=(f"artifactctl audit ls --artifact {artifact.name}",))


def _not_permitted(workplace: Workplace, act: Act) -> str:
    """Return that whoever asks may not do it themselves, "" where they may."""
    permission = workplace.catalog.permission(act)
    return "" if permission.is_given else permission.reason


def explain_silence(artifact: Artifact, machine: str, problem: str) -> WhyAnswer:
    """Say that a machine with a copy could not be asked: not knowing is a no."""
    reason = f"its copy on {machine} cannot be looked at: {problem}"
    return _answer(
        artifact, (Evidence(guard="confined", verdict=Verdict.UNKNOWN, reason=reason),), standing="", first=()
    )


def joined(answers: Sequence[WhyAnswer]) -> WhyAnswer:
    """Return what was said on each machine as one answer: it may go only where all of them say so."""
    return WhyAnswer(
        name=answers[0].name,
        may_go=all(answer.may_go for answer in answers),
        standing=answers[0].standing,
        evidence=tuple(item for answer in answers for item in answer.evidence),
        next_steps=tuple(dict.fromkeys(step for answer in answers for step in answer.next_steps)),
    )


def _where_it_went(catalog: Catalog, artifact: Artifact) -> str:
    states = {replica.state for replica in artifact.replicas}
    if states == {ReplicaState.GONE}:
        with catalog.reading() as reading:
            event = _purge_of(reading, artifact)
        if event is not None:
            since, operation = format_instant(event.entry.at), event.entry.operation
            return f"it is gone since {since}, purged by operation {operation}"
        return "it is gone"
    if states == {ReplicaState.MISSING}:
        return "it is missing: the last scan found nothing at its place"
    return f"it has no live copy: it is {', '.join(sorted(state.value for state in states)) or 'nowhere'}"


def _purge_of(reading: Reading, artifact: Artifact) -> AuditEvent | None:
    """Return the event by which its last copy went, None when none is told."""
    ended = (AuditAction.PURGE_DONE, AuditAction.RECOVER_PURGE, AuditAction.OPERATION_IMPORT)
    told = [
        event
        for operation in reading.operations(artifact_id=artifact.artifact_id)
        for event in audit.events(reading.connection, operation=operation.operation_id)
        if event.entry.action in ended
    ]
    return max(told, key=lambda event: event.event_id, default=None)


def _answer(artifact: Artifact, evidence: tuple[Evidence, ...], *, standing: str, first: tuple[str, ...]) -> WhyAnswer:
    blocking = [item for item in evidence if not item.permits_removal]
    steps = [step for step in first if step]
    steps += list(dict.fromkeys(item.remedy for item in blocking if item.remedy))
    if blocking and all(item.guard in WAIVABLE for item in blocking) and not standing:
        guards = ",".join(dict.fromkeys(item.guard for item in blocking))
        steps.append(f'artifactctl reclaim {artifact.name} --waive {guards} --reason "..."')
    return WhyAnswer(
        name=artifact.name,
        may_go=may_remove(evidence),
        standing=standing,
        evidence=evidence,
        next_steps=tuple(steps),
    )
