"""What a statement on record is worth once the machines that it names were asked: a part of `not_held`."""

from collections.abc import Sequence
from datetime import timedelta

from artifactctl.domain.attestation import MINIMUM_GRACE, Client, Regime, Statement
from artifactctl.domain.observation import ClientLook, HolderReport, Observation
from artifactctl.domain.verdicts import Evidence, Verdict
from artifactctl.guards.answered import answered_by_statement, unanswered
from artifactctl.guards.candidate import Candidate
from artifactctl.guards.wording import duration_text, first_of

NAME = "not_held"
_STATED = "attestation"
_HOURS = int(MINIMUM_GRACE.total_seconds()) // 3600


def rests_on(statement: Statement, report: HolderReport) -> bool:
    """Whether nobody could be told free of users without the statement, or others are known to use the volume."""
    return bool(answered_by_statement(report) or statement.elsewhere or statement.regime is Regime.LEASE)


def grace_on(evidence: Sequence[Evidence], grace: timedelta) -> timedelta:
    """Return how long it stays in quarantine by that evidence: what went on a statement stays a minimum."""
    attested = any(item.verdict is Verdict.ATTESTED for item in evidence)
    return max(grace, MINIMUM_GRACE) if attested else grace


def stated_in(evidence: Sequence[Evidence]) -> str | None:
    """Return the text of the attestation that the evidence rests on, None where it rests on none."""
    facts = [fact for item in evidence if item.verdict is Verdict.ATTESTED for fact in item.facts]
    return next((value for key, value in facts if key == _STATED), None)


def judge_statement(candidate: Candidate, statement: Statement, observation: Observation) -> Evidence:
    """Return attested when everybody was asked and is clear and the time is right; a use was reported before."""
    silent = _silent(statement, observation.clients)
    if silent:
        return _unknown(candidate, silent)
    too_early = _too_early(candidate, observation)
    if too_early is not None:
        return too_early
    others = [client.machine for client in statement.elsewhere]
    return Evidence(
        guard=NAME,
        verdict=Verdict.ATTESTED,
        reason=_reason(statement, others),
        facts=(
            (_STATED, candidate.replica.root.attestation),
            *(("asked", machine) for machine in others),
            *(("blind_spot", spot.kind.value) for spot in observation.holders.blind_spots),
        ),
    )


def _reason(statement: Statement, others: list[str]) -> str:
    if statement.regime is Regime.LEASE:
        return (
            "attested: nobody here uses it; that nobody elsewhere does rests on what was stated: everybody who uses "
            "the volume takes leases (`artifactctl lease run`, flock), and none is living"
        )
    where = f"here or on {', '.join(others)}" if others else "here"
    return f"attested: nobody {where} uses it; that no other machine does was stated on record"


def _silent(statement: Statement, looks: tuple[ClientLook, ...]) -> list[tuple[Client, str, str]]:
    """Return (machine, why it is not known, what would help) of each machine without an answer that settles it."""
    answers = {look.machine: look for look in looks}
    found = []
    for client in statement.elsewhere:
        look = answers.get(client.machine)
        if look is None:
            found.append((client, "it was not asked", f"artifactctl host check {client.machine}"))
        elif look.report is None:
            found.append((client, look.problem, look.remedy))
        elif spots := unanswered(look.report, attested=True):
            why = "; ".join(spot.detail for spot in spots)
            settled = first_of([spot.settled_by for spot in spots if spot.settled_by])
            found.append((client, why, f"on {client.machine}: {settled}"))
    return found


def _unknown(candidate: Candidate, silent: list[tuple[Client, str, str]]) -> Evidence:
    root = candidate.replica.root.name
    told = "; ".join(f"{client.machine} ({why})" for client, why, _ in silent)
    helps = dict.fromkeys(remedy for _, _, remedy in silent if remedy)
    return Evidence(
        guard=NAME,
        verdict=Verdict.UNKNOWN,
        reason=f"not known who uses it on {told}",
        facts=tuple(("not_asked", client.machine) for client, _, _ in silent),
        remedy="; ".join((*helps, f"or `artifactctl root attest {root}` without a machine that no longer mounts it")),
    )


def _too_early(candidate: Candidate, observation: Observation) -> Evidence | None:
    """Return why a purge may not rest on the statement yet."""
    if candidate.purge_at_once:
        return Evidence(
            guard=NAME,
            verdict=Verdict.BLOCKED,
            reason="other machines mount its volume: what goes there is set aside first, and all are asked again "
            f"{_HOURS} hours later",
            facts=(("purge", "at once"),),
            remedy="leave --purge-now away",
        )
    not_before = candidate.purge_not_before
    if not_before is None:
        return None
    if not (candidate.purge_is_early or observation.host_time < not_before):
        return _unproven(candidate)
    if not candidate.clock_trusted:
        return Evidence(
            guard=NAME,
            verdict=Verdict.UNKNOWN,
            reason=f"whether {_HOURS} hours have passed since it was set aside is not known: the clock is behind what "
            "was already recorded",
        )
    return Evidence(
        guard=NAME,
        verdict=Verdict.BLOCKED,
        reason="other machines mount its volume: all are asked a second time, at the earliest "
        f"{not_before:%Y-%m-%d %H:%M} UTC ({_HOURS} hours after it was set aside, or after what was "
        "stated about them changed)",
        facts=(("purge", "too early"),),
        remedy="wait until then; `artifactctl quarantine restore` puts it back any time",
    )


def _unproven(candidate: Candidate) -> Evidence | None:
    """Return why the clocks alone do not end the wait: they may have been set ahead."""
    left = candidate.purge_unproven
    if not left:
        return None
    return Evidence(
        guard=NAME,
        verdict=Verdict.UNKNOWN,
        reason=f"the clocks say that {_HOURS} hours have passed since it was set aside and since what was stated "
        f"changed; the time that the machine has been up since then does not prove the last {duration_text(left)} of "
        "them (its clock was set ahead, it was started anew, or it is another machine)",
        facts=(("purge", "too early by the machine's uptime"),),
        remedy=f"ask again when the machine has been up for {duration_text(left)} more; where it is another machine "
        "than set it aside, put it back (`artifactctl quarantine restore`) and set it aside there",
    )
