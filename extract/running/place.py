"""The place of a run in the catalog: announced once, joined by every later worker, complete at the end."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from artifactctl.api import Session
from artifactctl.api.shares import DividedWork
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, ReplicaState, RunState
from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.shares import Division, Share
from extract.joining import join_making, require_same, require_unused
from extract.publishing import take_away
from extract.running.engine import EngineFacts
from extract.running.identity import labels_of
from extract.running.outcomes import Extracted, Extraction
from extract.shards.manifest import NAME, read_packed_manifest
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

    def complete(self) -> Artifact | None:
        """Return what a run before completed at the place, None when there is none; Refused for another run."""
        known = self._known()
        if known is None or any(replica.state is ReplicaState.BUILDING for replica in known.replicas):
            return None
        if known.kind is not ArtifactKind.HIDDEN_STATES:
            raise Refused(f"{known.name}, a {known.kind.value}, lies there", remedy="give another --out")
        work = self._session.divided(known)
        mine = self.plan.fingerprint.as_json()
        theirs = (
            read_packed_manifest(self._wanted.out).plan.fingerprint.as_json()
            if work is None
            else {name: said for name, said in work.division.fingerprint.items() if name in mine}
        )
        require_same(mine, theirs, place=str(self._wanted.out))
        return known

    def division_of(self, complete: Artifact) -> Division | None:
        """Return how the making of what is complete was divided, None when it was not made in shares."""
        work = self._session.divided(complete)
        return None if work is None else work.division

    def as_listed(self, complete: Artifact) -> Extracted:
        """Return what the manifest says of what is complete."""
        manifest = read_packed_manifest(self._wanted.out)
        return Extracted(
            artifact=complete,
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

    def reopen(self, artifact: Artifact, shares: Sequence[Share], *, why: str) -> None:
        """Let finished shares be claimed again; what was complete is being made from here on, by a run of its own.

        Refused while somebody uses it, or below no managed root, as where the volume is not mounted.
        """
        self._session.require_place(self._wanted.out)
        run = None
        if self._session.run_in_progress(artifact) is None:
            run = self._session.start_run(_STAGE, inputs=[self._source.name])
        try:
            self._session.reopen(artifact, shares, why=why, run=run)
        except BaseException:
            if run is not None:
                self._session.finish_run(run, state=RunState.FAILED)
            raise
        self._wanted.out.mkdir(parents=True, exist_ok=True)
        take_away(self._wanted.out / NAME)  # what has its manifest is complete

    def found_damaged(self, artifact: Artifact) -> datetime | None:
        """Return when `verify` last found something wrong with it, if it has not found it whole since."""
        return self._session.found_damaged(artifact)

    @property
    def now(self) -> datetime:
        """The present instant."""
        return self._session.now

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
