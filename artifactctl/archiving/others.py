"""What must be known before what was written of a copy is removed: is another left, and is nobody at work on it."""

import os

from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.inventory.process_identity import HolderLife, identify_process, life_of

_COPYING = "artifactctl archive "
"""How the command of a lease begins that somebody took to copy."""


def has_another(reading: Reading, artifact: Artifact) -> bool:
    """Whether a live copy, or a verified one in a store, is left of it by what the catalog says."""
    stored = reading.archives(artifact_ids=(artifact.artifact_id,))
    known = reading.artifact_by_id(artifact.artifact_id) or artifact
    return any(r.state is ReplicaState.LIVE for r in known.replicas) or any(c.is_verified for c in stored)


def copier_at_work(work: ArchivingWork, reading: Reading, artifact: Artifact) -> str:
    """Return who may be copying it right now, "" when nobody: a lock at the copy is not seen from every machine.

    Whose process is provably gone is at work no more.
    """
    here = identify_process(os.getpid(), work.identity())
    for lease in reading.leases(work.clock(), artifact_ids=(artifact.artifact_id,)):
        if not lease.command.startswith(_COPYING):
            continue
        if here is None or life_of(lease, here=here) is not HolderLife.GONE:
            until = f"{lease.expires_at:%Y-%m-%d %H:%M}"
            return f"process {lease.pid} on {lease.host} may be copying it right now (its lease runs until {until} UTC)"
    return ""
