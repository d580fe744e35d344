"""What earlier invocations left to do again: shards that were lost since, and records that could not be had.

- A finished shard that is not there, is damaged, or holds other records than were finished, is extracted again.
- A record that was rejected is tried once more by each invocation. Its shard is touched only when the record can be had
  by now; then one with all that it held and the new record takes its place.
- Every byte of a shard is read where something says that it changed: a failed `verify`, or a time of change after it
  was finished. Otherwise its header and its content keys are looked at.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from artifactctl.api.shares import DividedWork
from artifactctl.api.wording import counted
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.errors import CheckFailed
from artifactctl.domain.shares import Share
from extract.running.checking import checked, require_computable
from extract.running.engine import Computed, CorpusRecord, Outcome, Unable
from extract.running.place import Place
from extract.running.ranges import RecordRange
from extract.running.sharing import Sharer
from extract.shards.manifest import NAME, BrokenManifest, read_packed_manifest
from extract.shards.reader import BrokenShard
from extract.shards.records import RejectedRecord
from extract.telling import Telling

_MOST_TOLD = 5


class Mending:
    """What one worker does about it; each shard and each rejected record once."""

    def __init__(self, place: Place, sharer: Sharer, parts: Sequence[RecordRange], telling: Telling) -> None:
        self._place = place
        self._sharer = sharer
        self._parts = parts
        self._telling = telling
        self._remade: set[int] = set()
        self._to_retry: dict[int, int] = {}
        self._looked_at: tuple[datetime, ...] = ()

    def begin(self, work: DividedWork, artifact: Artifact) -> None:
        """Let what was lost be claimed again, and note what was rejected so far."""
        shares = work.shares()
        self._remake(shares, artifact)
        is_complete = len(shares) == work.division.shares and all(share.is_finished for share in work.shares())
        if is_complete and not self._has_manifest():
            self._place.reopen(artifact, (), why=f"its {NAME} was lost")
        self._to_retry = {share.number: share.fence for share in work.shares() if share.is_finished and share.rejected}

    def next(self, work: DividedWork, artifact: Artifact) -> Mapping[int, Outcome] | None:
        """Let something be claimed again, with what was computed of it; None when nothing is left to mend."""
        shares = work.shares()
        if self._remake(shares, artifact):
            return {}
        for share in shares:
            if self._to_retry.pop(share.number, None) != share.fence or not share.is_finished:
                continue
            known = self._tried_again(share)
            if any(isinstance(outcome, Computed) for outcome in known.values()):
                why = f"a record of {self._parts[share.number].shard_name} can be had by now"
                self._place.reopen(artifact, (share,), why=why)
                return known
        return None

    def _remake(self, shares: Sequence[Share], artifact: Artifact) -> bool:
        lost = dict(self._lost(shares, self._place.found_damaged(artifact)))
        self._looked_at = (self._place.now,)
        if not lost:
            return False
        again = self._remade & lost.keys()
        if again:
            raise CheckFailed(
                f"{lost[min(again)]}, for the second time",
                remedy="`artifactctl audit ls --path` may say who removed it; then the same command again",
            )
        self._remade |= lost.keys()
        for number in sorted(lost)[:_MOST_TOLD]:
            records = counted(self._parts[number].records, "record")
            self._telling.say("lost", f"{lost[number]}: its {records} are extracted again", shard=number)
        if len(lost) > _MOST_TOLD:
            self._telling.say("lost", f"and {len(lost) - _MOST_TOLD:,} shards more", shards=sorted(lost))
        seen = [share for share in shares if share.number in lost]
        self._place.reopen(artifact, seen, why="; ".join(lost[number] for number in sorted(lost)[:_MOST_TOLD]))
        return True

    def _lost(self, shares: Sequence[Share], damaged_at: datetime | None) -> Iterator[tuple[int, str]]:
        completed = [each.finished_at for each in shares if each.number == len(self._parts) and each.finished_at]
        for share in shares:
            if share.finished_at is None or not share.records:
                continue
            part = self._parts[share.number]
            looked_at = max((share.finished_at, *completed, *self._looked_at))
            why = self._what_is_wrong(part, share, damaged_at, looked_at)
            if why:
                yield share.number, why

    def _what_is_wrong(self, part: RecordRange, share: Share, damaged_at: datetime | None, looked_at: datetime) -> str:
        path = self._sharer.folder / part.shard_name
        try:
            changed_at = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
            is_doubtful = changed_at > looked_at or (damaged_at is not None and damaged_at > looked_at)
            found = self._sharer.found(part, reads_all=is_doubtful)
        except FileNotFoundError:
            found = None
        except BrokenShard as broken:
            return broken.message
        if found is None:
            return f"{path} was written and is not there any more"
        if (found.written.records, found.written.tokens) != (share.records, share.tokens):
            return f"{path} holds {found.written.records:,} records, {share.records:,} were written"
        return ""

    def _has_manifest(self) -> bool:
        try:
            read_packed_manifest(self._sharer.folder)
        except BrokenManifest:
            return False
        return True

    def _tried_again(self, share: Share) -> dict[int, Outcome]:
        """Return what comes of the rejected records of a share, up to the first one that can be had."""
        self._telling.note("retrying", shard=share.number, records=sorted(share.rejected))
        known: dict[int, Outcome] = {}

        def to_compute() -> Iterator[CorpusRecord]:
            for index in sorted(share.rejected):
                record = self._sharer.corpus.record(index)
                try:
                    require_computable(record, self._sharer.engine.facts)
                except RejectedRecord as unfit:
                    known[index] = Unable(index=index, reason=str(unfit))
                else:
                    yield record

        for outcome in self._sharer.engine.compute(to_compute()):
            if self._sharer.should_stop():
                return {}
            known[outcome.index] = self._judged(outcome)
            if isinstance(known[outcome.index], Computed):
                break
        return known

    def _judged(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Unable):
            return outcome
        corpus = self._sharer.corpus
        try:
            checked(corpus.record(outcome.index), outcome, corpus.loss_mask(outcome.index), self._sharer.plan.form)
        except RejectedRecord as unfit:
            return Unable(index=outcome.index, reason=str(unfit))
        return outcome
