"""Taking the overview: one consistent look at the catalog, and df of the machines' volumes. No tree is walked."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from artifactctl import audit
from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState
from artifactctl.reclaim.quarantined import in_quarantine
from artifactctl.report.disk_usage import Share
from artifactctl.report.overview import Overview
from artifactctl.report.volumes import VolumeAccount

_WITHOUT_BYTES = (ReplicaState.GONE, ReplicaState.ARCHIVED, ReplicaState.MISSING)


def take_overview(
    reading: Reading,
    *,
    volumes: Iterable[VolumeAccount],
    unreachable: Sequence[tuple[str, str]] = (),
    now: datetime,
) -> Overview:
    """Return what the catalog says at `now`, with the volumes of the machines that answered."""
    return Overview(
        taken_at=now,
        shares=shares_of(reading.artifacts()),
        volumes=tuple(volumes),
        unreachable=tuple(unreachable),
        quarantined=tuple(item.entry for item in in_quarantine(reading)),
        holds=reading.holds(),
        leases=reading.leases(now),
        reservations=reading.reservations(now),
        audit=audit.head(reading.connection),
        last_acts=audit.last_of_each_action(reading.connection),
    )


def shares_of(artifacts: Iterable[Artifact]) -> tuple[Share, ...]:
    """Return the catalogued bytes by root, kind and state, in that order, without those that are on no disk."""
    sizes: dict[tuple[str, str, str], int] = defaultdict(int)
    names: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for artifact in artifacts:
        for replica in artifact.replicas:
            if replica.state not in _WITHOUT_BYTES:
                key = (replica.root.name, artifact.kind.value, replica.state.value)
                sizes[key] += replica.allocated_bytes
                names[key].add(artifact.artifact_id)
    return tuple(
        Share(root=root, kind=kind, state=state, artifacts=len(names[root, kind, state]), allocated_bytes=size)
        for (root, kind, state), size in sorted(sizes.items())
    )
