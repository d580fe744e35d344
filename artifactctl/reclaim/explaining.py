"""Why an artifact may go or stays, in whatever state it is."""

from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.domain.verdicts import Evidence, Verdict, may_remove
from artifactctl.guards import WAIVABLE
from artifactctl.reclaim.before_purge import forecast_purge
from artifactctl.reclaim.planning import evidence_about
from artifactctl.reclaim.preparing import judge_each
from artifactctl.reclaim.quarantined import in_quarantine
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.why import WhyAnswer


def explain_artifact(workplace: Workplace, artifact: Artifact) -> WhyAnswer:
    """Judge the live copy (every live copy must be clear), else what is in quarantine, else say where it went."""
    live = [r for r in artifact.replicas if r.state is ReplicaState.LIVE]
    if live:
        subjects = judge_each(workplace, [(artifact, replica) for replica in live])
        evidence = tuple(item for subject in subjects for item in evidence_about(workplace.guards, subject))
        may_go = may_remove(evidence)
        first = f"artifactctl reclaim {artifact.name} --dry-run" if may_go else ""
        return _answer(artifact, evidence, standing="", first=first)
    with workplace.catalog.reading() as reading:
        aside = [item for item in in_quarantine(reading) if item.artifact.artifact_id == artifact.artifact_id]
    if aside:
        evidence = forecast_purge(workplace, aside[0]).evidence
        first = f"artifactctl quarantine restore {artifact.name}"
        return _answer(artifact, evidence, standing="it is in quarantine", first=first)
    states = ", ".join(sorted({r.state.value for r in artifact.replicas})) or "nowhere"
    gone = Evidence(guard="confined", verdict=Verdict.BLOCKED, reason=f"it has no live copy: it is {states}")
    return _answer(artifact, (gone,), standing="", first=f"artifactctl audit ls --artifact {artifact.name}")


def _answer(artifact: Artifact, evidence: tuple[Evidence, ...], *, standing: str, first: str) -> WhyAnswer:
    blocking = [item for item in evidence if not item.permits_removal]
    steps = [first] if first else []
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
