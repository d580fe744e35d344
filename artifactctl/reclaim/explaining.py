"""Why an artifact may go or stays, in whatever state it is."""

from artifactctl import audit
from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.domain.audit import AuditAction, AuditEvent
from artifactctl.domain.roles import Act
from artifactctl.domain.verdicts import Evidence, Verdict, may_remove
from artifactctl.guards import WAIVABLE
from artifactctl.reclaim.before_purge import forecast_purge
from artifactctl.reclaim.planning import evidence_about
from artifactctl.reclaim.preparing import judge_each
from artifactctl.reclaim.quarantined import in_quarantine
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.instants import format_instant
from artifactctl.report.why import WhyAnswer


def explain_artifact(workplace: Workplace, artifact: Artifact) -> WhyAnswer:
    """Judge the live copy (every live copy must be clear), else what is in quarantine, else say where it went."""
    live = [r for r in artifact.replicas if r.state is ReplicaState.LIVE]
    if live:
        subjects = judge_each(workplace, [(artifact, replica) for replica in live])
        evidence = tuple(item for subject in subjects for item in evidence_about(workplace.guards, subject))
        may_go = may_remove(evidence)
        first = f"artifactctl reclaim {artifact.name} --dry-run" if may_go else ""
        return _answer(artifact, evidence, standing="", first=(first, _not_permitted(workplace, Act.SET_ASIDE)))
    with workplace.catalog.reading() as reading:
        aside = [item for item in in_quarantine(reading) if item.artifact.artifact_id == artifact.artifact_id]
    if aside:
        evidence = forecast_purge(workplace, aside[0]).evidence
        first = f"artifactctl quarantine restore {artifact.name}"
        then = (first, _not_permitted(workplace, Act.PURGE))
        return _answer(artifact, evidence, standing="it is in quarantine", first=then)
    reason = _where_it_went(workplace, artifact)
    evidence = (Evidence(guard="confined", verdict=Verdict.BLOCKED, reason=reason),)
    return _answer(artifact, evidence, standing=reason, first=(f"artifactctl audit ls --artifact {artifact.name}",))


def _not_permitted(workplace: Workplace, act: Act) -> str:
    """Return that whoever asks may not do it themselves, "" where they may."""
    permission = workplace.catalog.permission(act)
    return "" if permission.is_given else permission.reason


def _where_it_went(workplace: Workplace, artifact: Artifact) -> str:
    states = {replica.state for replica in artifact.replicas}
    if states == {ReplicaState.GONE}:
        with workplace.catalog.reading() as reading:
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
