"""Some of a complete artifact made again by the program that made it, where members of it were lost.

While that lasts the copy is `building` again: nothing may remove it, and nothing counts it as a copy. Whoever leased it
reads what was there and must not find it changed.
"""

from collections.abc import Sequence
from datetime import datetime

from artifactctl.catalog import Catalog, Writing
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Run
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import Refused
from artifactctl.domain.shares import Share
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.recording import CatalogRecorder

_REOPENED = (ReplicaState.LIVE, ReplicaState.MISSING)


def reopen(
    host: Host,
    catalog: Catalog,
    artifact: Artifact,
    shares: Sequence[Share],
    *,
    why: str,
    run: Run | None,
    acting: Acting,
) -> None:
    """Let the finished shares be claimed again, and with them the one that completes the artifact.

    `run` is what makes it from here on. Refused while somebody uses the artifact, or where another copy of it is on
    record: that one would no longer be the same.
    """
    with catalog.writing(acting.actor, acting.now) as writing:
        known = writing.artifact_by_id(artifact.artifact_id)
        division = writing.division(artifact.artifact_id)
        assert known is not None, "artifacts are never forgotten"
        assert division is not None, "the shares are of a division"
        (replica,) = _copies(known)
        last = [each for each in writing.shares(known.artifact_id) if each.number == division.shares - 1]
        reopened = [share.number for share in shares if writing.reopen_share(share)]
        if shares and not reopened:
            return  # another worker did so
        for share in last:
            writing.reopen_share(share)
        if replica.state in _REOPENED:
            _require_unused(writing, known, acting.now)
            writing.change_state(replica.replica_id, expected=_REOPENED, to=ReplicaState.BUILDING)
            writing.update_artifact(known.artifact_id, sealed=False, content_digest="")
            if run is not None:
                writing.add_run_output(run.run_id, known.artifact_id)
        recorder = CatalogRecorder(
            catalog, replica.root, hostname=host.identify().hostname, actor=acting.actor, now=acting.now
        )
        recorder.audit_in(
            writing, AuditAction.ARTIFACT_REOPEN, known.name, replica.relative, reason=why, shares=list(reopened)
        )


def last_failure(catalog: Catalog, artifact: Artifact) -> datetime | None:
    """Return when a verification found something wrong with a copy, None where the latest of each found it whole."""
    with catalog.reading() as reading:
        latest = [found[-1] for replica in artifact.replicas if (found := reading.verifications(replica.replica_id))]
    return max((each.verified_at for each in latest if not each.ok), default=None)


def _copies(known: Artifact) -> Sequence[Replica]:
    copies = [replica for replica in known.replicas if replica.state is not ReplicaState.GONE]
    if len(copies) != 1 or copies[0].state not in (*_REOPENED, ReplicaState.BUILDING):
        states = ", ".join(sorted(replica.state.value for replica in copies)) or "gone"
        raise Refused(
            f"{known.name} is not as it was and cannot be made again at its place: its copies are {states}",
            remedy=f"artifactctl show {known.name}    (another copy may be whole), or give another --out",
        )
    return copies


def _require_unused(writing: Writing, known: Artifact, now: datetime) -> None:
    leases = writing.leases(now, artifact_ids=[known.artifact_id])
    if leases:
        raise Refused(
            f"{known.name} is in use by `{leases[0].command}` on {leases[0].host} and is not changed under it",
            remedy="artifactctl lease ls    then the same command again when nobody uses it",
        )
