"""What the catalog alone says could be given up on a volume; the guards still have to look at each on the machine.

The policy, the lineage and the guards are those of `reclaim`: whatever is listed here, `reclaim` offers too, unless
what it finds on disk speaks against it.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from artifactctl.capacity.selection import ReclaimCandidate
from artifactctl.catalog.indexed_reading import IndexedReading
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Artifact, ReplicaState, Root
from artifactctl.domain.operations import JournalEvent
from artifactctl.guards import Candidate
from artifactctl.guards.by_catalog import catalog_permits
from artifactctl.guards.company import going_with, kept_as_input, without_protect
from artifactctl.inventory.candidates import Choice, Trust, candidate_for
from artifactctl.inventory.kinship import Freshness, proofs_to_look_at
from artifactctl.inventory.rulings import Rulings
from artifactctl.policy.ruleset import Policy


def reclaim_candidates(
    reading: Reading, roots: Sequence[Root], *, policy: Policy, trust: Trust, now: datetime
) -> tuple[ReclaimCandidate, ...]:
    """Return what is in quarantine below the roots of a volume, and what the policy would offer there.

    A fresh quarantine frees nothing before its grace has passed. `trust` is `trust_here` wherever the roots can be
    asked: what they hold and this catalog does not know is not offered then.
    """
    inside = frozenset(root.root_id for root in roots)
    return (
        *_set_aside(reading, inside, now=now),
        *_in_place(reading, inside, policy=policy, trust=trust, now=now),
    )


def cost_of(reading: Reading, artifact: Artifact) -> float | None:
    """Return the GPU hours that making it again takes, going by its latest run that says so; None if nobody knows.

    A run of which only the duration is known counts as one GPU.
    """
    runs = [run for run in reading.runs(artifact_id=artifact.artifact_id) if artifact.artifact_id in run.outputs]
    costs = [run.cost_gpu_hours for run in runs if run.cost_gpu_hours is not None]
    if costs:
        return costs[-1]
    seconds = runs[-1].duration_seconds if runs else None
    return None if seconds is None else seconds / 3600


def _set_aside(reading: Reading, inside: Collection[str], *, now: datetime) -> Iterable[ReclaimCandidate]:
    for operation in reading.operations(states=(JournalEvent.QUARANTINED,)):
        replica = reading.replica(operation.replica_id)
        if replica is None or replica.root.root_id not in inside or operation.grace_until is None:
            continue
        yield ReclaimCandidate(
            name=operation.artifact_name,
            freed_bytes=operation.expected_freed_bytes,
            superseded=False,
            regenerate_cost=None,
            created_at=operation.started_at,
            available_at=max(now, operation.grace_until),
            set_aside=True,
            allocated_bytes=replica.allocated_bytes,
            freed_files=replica.files,
        )


def _in_place(
    plain: Reading, inside: Collection[str], *, policy: Policy, trust: Trust, now: datetime
) -> Iterable[ReclaimCandidate]:
    rulings = Rulings(policy, plain, now=now)
    reading = IndexedReading(plain) if rulings.offers_many else plain
    for copies in _offered(reading, inside, rulings, trust=trust, now=now):
        artifact = copies[0].artifact
        yield ReclaimCandidate(
            name=artifact.name,
            freed_bytes=sum(copy.replica.allocated_bytes for copy in copies),
            superseded=artifact.superseded_by is not None,
            regenerate_cost=cost_of(reading, artifact),
            created_at=artifact.created_at,
            available_at=now + policy.grace,
            freed_files=sum(copy.replica.files for copy in copies),
        )


def _offered(
    reading: Reading, inside: Collection[str], rulings: Rulings, *, trust: Trust, now: datetime
) -> Iterable[Sequence[Candidate]]:
    """Yield the copies of one artifact at a time that the policy offers and nothing in the catalog keeps."""
    artifacts = reading.artifacts(state=ReplicaState.LIVE, numbers=rulings.offered)
    pairs = rulings.under_consideration(artifacts, root_ids=inside)
    alone = [
        candidate
        for artifact, replica in pairs
        if catalog_permits(
            without_protect(
                candidate := candidate_for(
                    reading,
                    artifact,
                    replica,
                    choice=Choice(named=False),
                    ruling=rulings.about(replica),
                    fresh=Freshness.as_recorded((*artifact.replicas, *proofs_to_look_at(reading, artifact, replica))),
                    trust=trust,
                    now=now,
                )
            ),
            now=now,
        )
    ]
    kept = kept_as_input(alone)
    together = {c.artifact.name for c in alone} - set(kept)
    copies: dict[str, list[Candidate]] = {}
    for candidate in alone:
        name = candidate.artifact.name
        if name in together and catalog_permits(going_with(candidate, together), now=now):
            copies.setdefault(name, []).append(candidate)
    return copies.values()
