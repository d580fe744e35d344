"""The last share of a run: every shard looked at once more, then the manifest, the seal, the end of the run."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.errors import CheckFailed
from artifactctl.domain.shares import Share
from extract.publishing import take_away_asides
from extract.running.identity import labels_of
from extract.running.ranges import RecordRange
from extract.running.sharing import Sharer
from extract.shards.manifest import NAME, ListedShard, PackedManifest, Rejected, read_packed_manifest, write_manifest


def complete(
    session: Session, sharer: Sharer, building: Artifact, parts: Sequence[RecordRange], shares: Sequence[Share]
) -> Artifact:
    """Write the manifest over the finished shares, whose shards were looked at, and seal the artifact.

    What was done of it before stays done.
    """
    rejected = {index: reason for share in shares for index, reason in share.rejected.items()}
    manifest = PackedManifest(
        plan=sharer.plan,
        shards=tuple(_shards(parts, shares)),
        rejected=tuple(Rejected(index=index, reason=rejected[index]) for index in sorted(rejected)),
        made_with=labels_of(sharer.engine.facts, sharer.plan.codec),
    )
    for part in parts:
        take_away_asides(sharer.folder, part.shard_name)
    if not (sharer.folder / NAME).exists():
        write_manifest(sharer.folder, manifest)
    elif read_packed_manifest(sharer.folder).shards != manifest.shards:
        raise CheckFailed(f"{sharer.folder / NAME} lists other shards", remedy="move it away, then run this again")
    sealed = session.seal(building, tokens=manifest.tokens, records=manifest.records)
    run = session.run_in_progress(sealed)
    if run is not None:
        session.finish_run(run, duration=worked(shares))
    return sealed


def worked(shares: Sequence[Share]) -> timedelta:
    """Return how long somebody was at it, several at once counted once: what the rate of the run follows from."""
    total = timedelta(0)
    end = None
    spans = sorted((share.claimed_at, share.finished_at) for share in shares if share.finished_at is not None)
    for begun, finished in spans:
        begun = begun if end is None else max(begun, end)
        if finished > begun:
            total += finished - begun
            end = finished
    return max(total, timedelta(microseconds=1))


def _shards(parts: Sequence[RecordRange], shares: Sequence[Share]) -> Iterator[ListedShard]:
    by_number = {share.number: share for share in shares}
    for part in parts:
        share = by_number[part.number]
        if share.records:
            yield ListedShard(
                name=part.shard_name, size_bytes=share.size_bytes, records=share.records, tokens=share.tokens
            )
