"""Removing a finished copy from an object store: for good, since nothing can be set aside there.

1. Look at the other copies: one has to be there now, verified by its digests, with the content that this one has.
2. Run the checks in the transaction that marks this one `purging`.    From here it is nobody's copy (I8).
3. Remove its manifest, then its objects.                              A rest is never taken for a copy.
4. Let the catalog say that it is gone.                                I7: only after the store said so.

A crash between 2 and 4 leaves it `purging`: the same command goes on, and nothing is judged again.
Why no plan, quarantine or caps: those are about the bytes of our volumes. Where a policy wants another person's consent
for so many bytes it is refused, since there is no plan that could be approved.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from artifactctl import audit
from artifactctl.archiving.presence import archives_there
from artifactctl.archiving.store_copies import folder_of, remove_whole
from artifactctl.catalog import Reading, UnknownObject, Writing
from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import Artifact, ReplicaState, VerifyLevel
from artifactctl.domain.audit import AuditAction, AuditEntry
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.roles import Act
from artifactctl.domain.verdicts import Evidence, Verdict, may_remove
from artifactctl.inventory.rulings import ruling_on
from artifactctl.reclaim.workplace import Workplace
from artifactctl.report.evidence import evidence_payload
from artifactctl.report.sizes import format_bytes

_CAN_GO = (ReplicaState.ARCHIVED, ReplicaState.PURGING)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCopy:
    """One copy with the artifact it is of; `address` is the URL of its own folder."""

    artifact: Artifact
    copy: ArchiveCopy
    address: str


def stored_copies(reading: Reading, word: str) -> tuple[StoredCopy, ...]:
    """Return the finished copy that a URL names, or all in the store that it names; UnknownObject for neither."""
    identity, url = reading.identity(), word.rstrip("/")
    found = []
    for copy in reading.archives():
        artifact = reading.artifact_by_id(copy.artifact_id)
        if copy.state not in _CAN_GO or artifact is None:
            continue
        address = f"{copy.url}/{folder_of(artifact.name, copy.archive_id, identity.lineage_id)}"
        if url in (copy.url, address):
            found.append(StoredCopy(artifact=artifact, copy=copy, address=address))
    if not found:
        raise UnknownObject(
            f"no finished copy is known at {word}",
            remedy="`artifactctl show NAME` shows the copies of an artifact; one that was only begun is given up with "
            f"`artifactctl archive NAME --to {word} --abandon`",
        )
    return tuple(found)


def judge_stored(work: Workplace, item: StoredCopy) -> tuple[Evidence, ...]:
    """Return what speaks for and against removing the copy, by what is seen now."""
    with work.catalog.reading() as reading:
        artifact = reading.artifact_by_id(item.artifact.artifact_id) or item.artifact
        return (_another_copy(work, reading, artifact, item.copy), *_checks(work, reading, artifact, item.copy))


def remove_stored(work: Workplace, item: StoredCopy, *, reason: str) -> tuple[Evidence, ...]:
    """Remove the copy when every check is clear, and return the checks; a removal that had begun is only completed."""
    for act in (Act.SET_ASIDE, Act.PURGE):
        work.require(act, about=item.artifact.name)
    evidence: tuple[Evidence, ...] = ()
    if item.copy.state is ReplicaState.ARCHIVED:
        evidence = judge_stored(work, item)
        if not may_remove(evidence):
            return evidence
        seen = evidence[0]
        with work.catalog.writing(work.actor, work.clock()) as writing:
            artifact = writing.artifact_by_id(item.artifact.artifact_id) or item.artifact
            still = _is_still_there(writing, artifact, item.copy, dict(seen.facts))
            evidence = (seen if still else _nobody(), *_checks(work, writing, artifact, item.copy))
            if not may_remove(evidence):
                return evidence
            writing.change_archive(item.copy.archive_id, expected=ReplicaState.ARCHIVED, to=ReplicaState.PURGING)
            _record(work, writing, item, AuditAction.ARCHIVE_REMOVE_BEGIN, reason, evidence)
    remove_whole(item.artifact.name, item.copy, catalog_id=work.catalog.lineage_id)
    with work.catalog.writing(work.actor, work.clock()) as writing:
        writing.change_archive(item.copy.archive_id, expected=ReplicaState.PURGING, to=ReplicaState.GONE)
        _record(work, writing, item, AuditAction.ARCHIVE_REMOVE, reason, evidence)
    return evidence


def _another_copy(work: Workplace, reading: Reading, artifact: Artifact, copy: ArchiveCopy) -> Evidence:
    """Return whether the same content is verified somewhere else and was seen there now; no waiver makes it so."""
    if copy.content_digest != artifact.content_digest:
        return _nobody("it has an earlier content of the artifact, which no other copy has")
    doubts = []
    for replica in artifact.replicas:
        if replica.state is not ReplicaState.LIVE or not replica.root.is_managed:
            continue
        if replica.verified_level is not VerifyLevel.DIGESTS:
            doubts.append(f"the copy in `{replica.root.name}` is not verified by its digests")
            continue
        try:
            proof = work.proof_of(reading, replica)
        except HostFailure as failure:
            doubts.append(f"the copy in `{replica.root.name}` cannot be looked at: {failure.message}")
            continue
        if proof.fingerprint == replica.verified_fingerprint != "" and not proof.doubt:
            where = f"another verified copy is on `{replica.root.name}`"
            return _clear("recoverable", where, ("replica", str(replica.replica_id)))
        doubts.append(proof.doubt or f"the copy in `{replica.root.name}` is not as it was verified")
    others = [each for each in reading.archives(artifact_ids=(artifact.artifact_id,)) if _is_same(each, copy)]
    there, unseen = archives_there(((artifact.name, each) for each in others), catalog_id=work.catalog.lineage_id)
    for each in others:
        if each.archive_id in there:
            return _clear("recoverable", f"another verified copy is at {each.url}", ("archive", str(each.archive_id)))
    return _nobody(next(iter((*doubts, *unseen.values())), "no other copy is known"))


def _is_same(other: ArchiveCopy, copy: ArchiveCopy) -> bool:
    return other.archive_id != copy.archive_id and other.is_verified and other.content_digest == copy.content_digest


def _is_still_there(reading: Reading, artifact: Artifact, copy: ArchiveCopy, facts: dict[str, str]) -> bool:
    """Whether what was seen a moment ago counts in this transaction as well: nobody began to remove it since."""
    if "replica" in facts:
        mine = [r for r in artifact.replicas if str(r.replica_id) == facts["replica"]]
        return any(r.state is ReplicaState.LIVE and r.verified_level is VerifyLevel.DIGESTS for r in mine)
    others = reading.archives(artifact_ids=(artifact.artifact_id,))
    return any(str(each.archive_id) == facts.get("archive") and _is_same(each, copy) for each in others)


def _checks(work: Workplace, reading: Reading, artifact: Artifact, copy: ArchiveCopy) -> tuple[Evidence, ...]:
    ids = (artifact.artifact_id,)
    holds, leases = reading.holds(artifact_ids=ids), reading.leases(work.clock(), artifact_ids=ids)
    rulings = [ruling_on(work.policy, reading, replica, now=work.clock()) for replica in artifact.replicas]
    protect = next((ruling.protect for ruling in rulings if ruling.protect is not None), None)
    coming = any(replica.state is ReplicaState.ARCHIVING for replica in artifact.replicas)
    limit = work.policy.limits.approval_above_bytes
    return (
        _unless("no_hold", f"{holds[0].actor} holds it: {holds[0].reason}" if holds else ""),
        _unless("unleased", f"{leases[0].owner} uses it (`artifactctl lease ls`)" if leases else ""),
        _unless("unleased", "a copy of it is being made, perhaps from this one" if coming else ""),
        _unless("unprotected", f"the policy protects it: {protect.reason}" if protect else ""),
        _unless(
            "in_policy",
            f"the policy wants another person's consent above {format_bytes(limit)}, and there is no plan to approve"
            if limit is not None and copy.size_bytes > limit
            else "",
        ),
        _unless("no_live_descendant", "" if work.trust(reading).lineage else "this catalog is not confirmed"),
    )


def _unless(guard: str, reason: str) -> Evidence:
    if reason:
        return Evidence(guard=guard, verdict=Verdict.BLOCKED, reason=reason)
    return _clear(guard, "nothing speaks against it")


def _clear(guard: str, reason: str, *facts: tuple[str, str]) -> Evidence:
    return Evidence(guard=guard, verdict=Verdict.CLEAR, reason=reason, facts=facts)


def _nobody(why: str = "the other copy is being removed") -> Evidence:
    return Evidence(
        guard="recoverable",
        verdict=Verdict.BLOCKED,
        reason=f"it may be the last copy: {why}",
        remedy="`artifactctl verify NAME --level digests` looks at the others, `unarchive` makes one",
    )


def _record(
    work: Workplace,
    writing: Writing,
    item: StoredCopy,
    action: AuditAction,
    reason: str,
    evidence: Sequence[Evidence],
) -> None:
    audit.append(
        writing.connection,
        AuditEntry(
            at=work.clock(),
            actor=work.actor,
            host=work.host.identify().hostname,
            action=action,
            artifact=item.artifact.name,
            bytes=item.copy.stored_bytes,
            reason=f"{item.address}: {reason}",
            policy_digest=work.policy.digest,
            evidence=evidence_payload(evidence),
        ),
    )
