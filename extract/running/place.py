"""The place of a run in the catalog: announced once, joined by every later worker, complete at the end."""

import os
from collections.abc import Mapping
from pathlib import Path

from artifactctl.api import Session
from artifactctl.api.shares import DividedWork
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, ReplicaState, RunState
from artifactctl.domain.errors import Refused, UsageError
from extract.joining import join_making, require_same, require_unused
from extract.running.engine import EngineFacts
from extract.running.identity import labels_of
from extract.running.outcomes import Extracted, Extraction
from extract.shards.manifest import read_packed_manifest
from extract.shards.writer import ShardPlan

_STAGE = "extraction"


def source_of(session: Session, word: str) -> tuple[Artifact, Path]:
    """Return the corpus that a word means and where it is; UsageError when it is none."""
    source = session.artifact(word)
    if source.kind is not ArtifactKind.MERGED_CORPUS:
        raise UsageError(f"{source.name} is a {source.kind.value}", remedy="name a merged corpus")
    return source, Path(os.fsdecode(session.path(word)))


class Place:
    """Where the shards of one run lie."""

    def __init__(
        self,
        session: Session,
        wanted: Extraction,
        source: Artifact,
        plan: ShardPlan,
        facts: EngineFacts,
        *,
        records: int,
    ) -> None:
        self._session = session
        self._wanted = wanted
        self._source = source
        self._facts = facts
        self._records = records
        self.plan = plan

    @property
    def identity(self) -> Mapping[str, str]:
        """All that decides what comes out, and in which shards."""
        return self.plan.fingerprint.as_json() | {
            "shard_bytes": str(self._wanted.shard_bytes),
            "records": str(self._records),
        }

    def completed_before(self) -> Extracted | None:
        """Return what a run before completed at the place, None when there is still work; Refused for another run."""
        known = self._known()
        if known is None or any(replica.state is ReplicaState.BUILDING for replica in known.replicas):
            return None
        if known.kind is not ArtifactKind.HIDDEN_STATES:
            raise Refused(f"{known.name}, a {known.kind.value}, lies there", remedy="give another --out")
        manifest = read_packed_manifest(self._wanted.out)
        mine, theirs = self.plan.fingerprint.as_json(), manifest.plan.fingerprint.as_json()
        require_same(mine, theirs, place=str(self._wanted.out))
        return Extracted(
            artifact=known,
            records=manifest.records,
            tokens=manifest.tokens,
            bytes_on_disk=sum(shard.size_bytes for shard in manifest.shards),
            shards=len(manifest.shards),
            rejected={each.index: each.reason for each in manifest.rejected},
            planned_bytes=None,
            tokens_per_second=None,
        )

    def join(self, shares: int) -> tuple[Artifact | None, DividedWork | None]:
        """Return what is being built at the place and its division, None when nothing is; Refused for another run."""
        known = self._known()
        if known is None:
            require_unused(self._wanted.out)  # told before the probe, which takes a while
            return None, None
        return known, self._divided(known, shares)

    def announce(self, shares: int) -> tuple[Artifact, DividedWork]:
        """Begin: a folder, the artifact with what it is made from, the run that makes it, the division."""
        self._session.require_place(self._wanted.out)
        require_unused(self._wanted.out)
        self._wanted.out.mkdir(parents=True, exist_ok=True)
        run = self._session.start_run(_STAGE, inputs=[self._source.name])
        try:
            building = self._session.register(
                self._wanted.out,
                kind=ArtifactKind.HIDDEN_STATES,
                name=self._wanted.name,
                inputs=[f"{self._source.name}:{LineageRole.EXTRACTED_FROM.value}"],
                labels=labels_of(self._facts, self.plan.codec),
                run=run,
                building=True,
            )
        except BaseException as error:
            self._session.finish_run(run, state=RunState.FAILED)
            known = self._known() if isinstance(error, Refused) else None
            if known is None:
                raise
            return known, self._divided(known, shares)  # another worker began at the same moment
        return building, self._divided(building, shares, is_ours=True)

    def sealed(self) -> Artifact:
        """Return the artifact that another worker completed."""
        return self._session.artifact(str(self._wanted.out.absolute()))

    def _divided(self, building: Artifact, shares: int, *, is_ours: bool = False) -> DividedWork:
        return join_making(
            self._session,
            building,
            self._wanted.out,
            kind=ArtifactKind.HIDDEN_STATES,
            identity=self.identity,
            shares=shares,
            is_ours=is_ours,
        )

    def _known(self) -> Artifact | None:
        try:
            return self._session.artifact(str(self._wanted.out.absolute()))
        except UsageError:
            return None
