"""Whether an artifact may be built on now: whole, verified as it lies there, current, and made of what is current."""

from artifactctl.catalog import Catalog, Reading
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, Replica, ReplicaState
from artifactctl.domain.errors import CheckFailed, Refused, UsageError
from artifactctl.hosts.protocol import Host
from artifactctl.reclaim.survey import look_at_proof

_MADE_OF = (LineageRole.EXTRACTED_FROM, LineageRole.MERGED_FROM)


def require_usable(host: Host, catalog: Catalog, artifact: Artifact, kind: ArtifactKind, replica: Replica) -> None:
    """Return when the copy may be built on; UsageError, Refused or CheckFailed with the object and what to do."""
    if artifact.kind is not kind:
        raise UsageError(f"{artifact.name} is a {artifact.kind.value}", remedy=f"name a {kind.value}")
    if replica.state is not ReplicaState.LIVE or not artifact.sealed:
        raise Refused(f"{artifact.name} is not finished", remedy="run what makes it to its end")
    with catalog.reading() as reading:
        _require_current(reading, artifact)
        _require_verified(host, reading, artifact, replica)


def _require_current(reading: Reading, artifact: Artifact) -> None:
    """Refuse what has a successor, or is made of what has one."""
    if artifact.superseded_by is not None:
        raise Refused(
            f"{artifact.name} is superseded by {artifact.superseded_by}", remedy=f"use {artifact.superseded_by}"
        )
    for edge in reading.parents(artifact.artifact_id):
        parent = reading.artifact_by_id(edge.parent_id)
        if edge.role in _MADE_OF and parent is not None and parent.superseded_by is not None:
            raise Refused(
                f"{artifact.name} is stale: it was made from {parent.name}, which is superseded by "
                f"{parent.superseded_by}",
                remedy=f"make it again from {parent.superseded_by}",
            )


def _require_verified(host: Host, reading: Reading, artifact: Artifact, replica: Replica) -> None:
    again = f"artifactctl verify {artifact.name}"
    if replica.verified_level is None or not replica.verified_fingerprint:
        raise Refused(f"{artifact.name} was never verified", remedy=again)
    seen = look_at_proof(host, reading, replica)
    if seen is None:
        raise CheckFailed(f"{artifact.name} does not lie there as the catalog has it", remedy=again)
    if seen.fingerprint != replica.verified_fingerprint:
        raise CheckFailed(f"{artifact.name} was changed since it was verified", remedy=again)
