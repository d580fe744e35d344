"""Work on one artifact divided among workers, on one or several machines, through the catalog.

A worker claims the lowest share that nobody is at. A claim lasts a term and is renewed; a worker that is proven gone on
this machine loses it at once, one elsewhere when its term is over. The last share is given out once all others are
finished: whoever gets it completes the artifact. Claims are signs of life and not audited; runs and seals are.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from artifactctl.catalog import Catalog
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.shares import Division, Share
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.leasing import TERM
from artifactctl.inventory.process_identity import (
    HolderLife,
    ProcessIdentity,
    identify_process,
    lease_is_of_this_boot,
    life_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Who claims: `owner` is random, `process` None where the system does not tell which process it is."""

    owner: str
    machine: HostIdentity
    process: ProcessIdentity | None

    @classmethod
    def of(cls, pid: int, machine: HostIdentity, *, owner: str) -> "Worker":
        """Return a process of this machine as a worker."""
        return cls(owner=owner, machine=machine, process=identify_process(pid, machine))

    def as_holder(self) -> dict[str, object]:
        """Return it as it stands in the catalog."""
        return {
            "owner": self.owner,
            "host": self.machine.hostname,
            "pid": None if self.process is None else self.process.pid,
            "pid_started": "" if self.process is None else self.process.text,
        }


def divide(
    catalog: Catalog, artifact: Artifact, *, fingerprint: Mapping[str, str], shares: int, acting: Acting
) -> Division:
    """Return how the making of the artifact is divided: as another worker said before, else as said here."""
    with catalog.writing(acting.actor, acting.now) as writing:
        if writing.division(artifact.artifact_id) is None:
            writing.divide(artifact.artifact_id, fingerprint=fingerprint, shares=shares)
        made = writing.division(artifact.artifact_id)
    assert made is not None, "it was made a moment ago"
    return made


def claim_next(catalog: Catalog, artifact: Artifact, worker: Worker, *, acting: Acting) -> Share | None:
    """Claim the lowest share that nobody is at; None when there is none now."""
    with catalog.reading() as reading:
        gone = _of_the_dead(reading, artifact, worker)
    with catalog.writing(acting.actor, acting.now) as writing:
        division = writing.division(artifact.artifact_id)
        if division is None:
            return None
        known = {share.number: share for share in writing.shares(artifact.artifact_id)}
        finished = sum(share.is_finished for share in known.values())
        eligible = division.shares if finished >= division.shares - 1 else division.shares - 1
        for number in range(eligible):
            share = known.get(number)
            is_free = share is None or (
                not share.is_finished and (not share.is_in_force(acting.now) or (number, share.fence) in gone)
            )
            if is_free:
                return writing.claim_share(
                    artifact.artifact_id, number, expires_at=acting.now + TERM, holder=worker.as_holder()
                )
    return None


def renew_share(catalog: Catalog, share: Share, *, acting: Acting) -> None:
    """Extend a claim by a term; LeaseLost when somebody took it over. A claim that ran out and is free is kept."""
    with catalog.writing(acting.actor, acting.now) as writing:
        writing.change_share(share, {"expires_at": acting.now + TERM})


def give_share_back(catalog: Catalog, share: Share, *, acting: Acting) -> None:
    """Let another worker have it at once."""
    with catalog.writing(acting.actor, acting.now) as writing:
        writing.change_share(share, {"expires_at": acting.now})


def note_rejected(catalog: Catalog, share: Share, rejected: Mapping[int, str], *, acting: Acting) -> None:
    """Record which records will be missing, before what is there gets its name; extends the claim."""
    facts = {"rejected": {str(index): reason for index, reason in rejected.items()}, "expires_at": acting.now + TERM}
    with catalog.writing(acting.actor, acting.now) as writing:
        writing.change_share(share, facts)


def finish_share(
    catalog: Catalog, share: Share, *, records: int, tokens: int, size_bytes: int, acting: Acting
) -> Share:
    """Record that a share is on disk, whole."""
    facts = {"finished_at": acting.now, "records": records, "tokens": tokens, "size_bytes": size_bytes}
    with catalog.writing(acting.actor, acting.now) as writing:
        return writing.change_share(share, facts)


def _of_the_dead(reading: Reading, artifact: Artifact, worker: Worker) -> set[tuple[int, int]]:
    """Return number and fence of the claims whose holders are proven gone; looked at before the transaction."""
    here = worker.process
    if here is None:
        return set()
    return {
        (share.number, share.fence)
        for share in reading.shares(artifact.artifact_id)
        if not share.is_finished and lease_is_of_this_boot(share, here) and life_of(share, here=here) is HolderLife.GONE
    }
