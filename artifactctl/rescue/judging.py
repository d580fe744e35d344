"""What could go and why, and what stays and why: from finds to candidates; pure."""

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.text import display_path
from artifactctl.recognition.sightings import Layout
from artifactctl.report.rescue_values import RescueCandidate, RescueKept
from artifactctl.report.sizes import format_duration
from artifactctl.rescue.checkpoint_runs import RunVerdict, judge_runs
from artifactctl.rescue.finds import Find, Findings, Pointer, lies_at_or_below
from artifactctl.rescue.knowledge import Knowledge
from artifactctl.rescue.regret import Regret
from artifactctl.rescue.siblings import older_siblings

QUIET = timedelta(minutes=15)
"""What changed or was read less than this ago may be in use between two opens: a removal asks about it."""

JUST_NOW = timedelta(seconds=10)
"""What was modified so shortly before the look began is being written."""

LONG = timedelta(days=14)

_STAYS = {
    ArtifactKind.RESPONSE_SET: "source data: this may be its only copy, and nothing here can make it again",
    ArtifactKind.MERGED_CORPUS: "hidden states and vocabulary maps are made from it",
    ArtifactKind.VOCAB_MAP: "checkpoints and drafts are useless without their vocabulary map",
    ArtifactKind.DRAFT_MODEL: "the result of a training run",
    ArtifactKind.MODEL: "a model; nothing here says where it could come from again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Candidates, least regret first, and what stays, largest first."""

    candidates: tuple[RescueCandidate, ...]
    kept: tuple[RescueKept, ...]


@dataclass(slots=True, kw_only=True)
class Judge:
    """Judges the findings of one search below the absolute `top`, which began at `began_at`; `now` is after it."""

    top: bytes
    findings: Findings
    knowledge: Knowledge
    began_at: datetime
    now: datetime
    quiet: timedelta = QUIET
    homes: tuple[bytes, ...] = ()
    _runs: Mapping[bytes, RunVerdict] = field(init=False)
    _older: Mapping[bytes, Find] = field(init=False)
    _pointers: Mapping[bytes, list[bytes]] = field(init=False)
    _candidates: list[RescueCandidate] = field(default_factory=list)
    _kept: list[RescueKept] = field(default_factory=list)

    def judge(self) -> Judgement:
        """Return every find either as a candidate or as kept."""
        finds = self.findings.finds
        self._runs = {verdict.find.relative: verdict for verdict in judge_runs(finds, is_quiet=self._is_old_enough)}
        self._older = older_siblings(finds)
        self._pointers = _pointers_by_target(self.findings.pointers)
        for find in self.findings.leftovers:
            self._offer(find, Regret.HALF_WRITTEN, "half-written: its name says that it was never finished")
        for find in finds:
            self._judge(find)
        whole = [c.path for c in self._candidates]
        for find in self.findings.torn:
            if not any(lies_at_or_below(self._path(find), path) for path in whole):
                self._offer(find, Regret.HALF_WRITTEN, f"torn, nothing can read it: {find.problems[0]}")
        return Judgement(candidates=ranked(self._candidates), kept=_largest_first(self._kept))

    def _judge(self, find: Find) -> None:
        obstacle = self._obstacle(find)
        reason = None if obstacle else self._reason(find)
        if reason is not None:
            self._offer(find, *reason)
        else:
            self._keep(find, obstacle or self._why_it_stays(find))

    def _reason(self, find: Find) -> tuple[Regret, str] | None:
        """Return why it could go, None when nothing says so."""
        known = self.knowledge.of(self._path(find))
        if known is not None and known.superseded:
            return Regret.SUPERSEDED, "superseded by a verified successor, says the catalog"
        run = self._runs.get(find.relative)
        if run is not None:
            regret = Regret.OLDER_CHECKPOINT if run.finished else Regret.NEVER_FINISHED
            return (regret, run.why) if run.goes else None
        if find.layout is Layout.HUB_CACHE:
            repository = find.detail("repo") or display_path(find.name)
            return (
                Regret.DOWNLOADED,
                f"download cache of {repository}: it can be fetched again, and nothing links to it",
            )
        if known is not None and known.repeatable:
            return Regret.REPEATABLE, "the catalog knows how to make it again, and its inputs are alive"
        newer = self._older.get(find.relative)
        if newer is not None:
            return Regret.OLDER_SIBLING, f"older sibling of {display_path(newer.name)}, going by the names: a guess"
        idle = self.now - max(find.modified_at, find.read_at or find.modified_at)
        if find.kind is ArtifactKind.HIDDEN_STATES and idle >= LONG:
            return Regret.LONG_UNCHANGED, f"not changed for {idle.days} days; can be extracted again from its corpus"
        return None

    def _obstacle(self, find: Find) -> str:
        """Return what rules it out whatever it is, "" when nothing does."""
        for pointer in self._pointers.get(find.relative, ()):
            if not lies_at_or_below(pointer, find.relative):
                return f"{display_path(pointer)} points at it"
        precious = [relative for relative, _ in find.inside]
        if precious:
            more = f" and {len(precious) - 1} more" if len(precious) > 1 else ""
            return f"it holds {display_path(precious[0][len(find.relative) + 1 :])}{more}, an artifact of its own"
        known = self.knowledge.of(self._path(find))
        if known is not None and known.needed_by:
            return f"{known.needed_by} needs it, says the catalog"
        return self._freshness(find)

    def _freshness(self, find: Find) -> str:
        """Say that it is being written right now, or seems to be; "" when not."""
        if find.modified_at > self.now:
            return "modified in the future, by its own clock"
        if find.modified_at > self.began_at - JUST_NOW:
            return "it is being written right now"
        return ""

    def _is_old_enough(self, find: Find) -> bool:
        """Whether its content is old enough to be taken for finished; a move or a copy made no content new."""
        return self.now - find.modified_at >= self.quiet

    def _is_settled(self, find: Find) -> bool:
        return self.now - find.changed_at >= self.quiet

    def _unrest(self, find: Find) -> str:
        """Say what a removal will ask about: a change or a read within the quiet time; "" when there was none."""
        if not self._is_settled(find):
            what = "moved, copied or given other attributes" if self._is_old_enough(find) else "changed"
            return f"; {what} {format_duration(self.now - find.changed_at)} ago"
        if find.read_at is not None and self.now - find.read_at < self.quiet:
            return f"; read {format_duration(self.now - find.read_at)} ago"
        return ""

    def _why_it_stays(self, find: Find) -> str:
        run = self._runs.get(find.relative)
        if run is not None:
            return run.why
        if find.kind is ArtifactKind.HIDDEN_STATES:
            age = format_duration(self.now - find.modified_at)
            return f"hidden states of {age} ago, and nothing that was seen beside them looks newer"
        return _STAYS.get(find.kind, "not understood well enough to offer")

    def _offer(self, find: Find, regret: Regret, why: str) -> None:
        freshness = self._freshness(find)
        if freshness:
            self._keep(find, freshness)
            return
        unrest = self._unrest(find)
        known = self.knowledge.of(self._path(find))
        self._candidates.append(
            RescueCandidate(
                path=self._path(find),
                kind=find.kind.value,
                allocated_bytes=find.allocated_bytes,
                freed_bytes=find.freed_bytes,
                why=why + unrest + _remarks(find),
                regret=regret,
                is_settled=not unrest,
                modified_at=find.modified_at,
                held_by=find.holders,
                promised=known.promised if known is not None else (),
                is_registered=known is not None,
                caution=_unmanageable(self._path(find), self.homes),
            )
        )

    def _keep(self, find: Find, why: str) -> None:
        self._kept.append(
            RescueKept(path=self._path(find), kind=find.kind.value, allocated_bytes=find.allocated_bytes, why=why)
        )

    def _path(self, find: Find) -> bytes:
        return posixpath.join(self.top, find.relative)


def _pointers_by_target(pointers: Iterable[Pointer]) -> dict[bytes, list[bytes]]:
    """Return what points at or below each path."""
    found: dict[bytes, list[bytes]] = defaultdict(list)
    for pointer in pointers:
        target = pointer.target
        while target:
            found[target].append(pointer.relative)
            target = target.rpartition(b"/")[0]
    return found


def ranked(candidates: Iterable[RescueCandidate]) -> tuple[RescueCandidate, ...]:
    """Return candidates by regret, the settled first, then the oldest first, then by path: a total order."""
    return tuple(sorted(candidates, key=lambda c: (c.regret, not c.is_settled, c.modified_at, c.path)))


def _largest_first(kept: Sequence[RescueKept]) -> tuple[RescueKept, ...]:
    return tuple(sorted(kept, key=lambda item: (-item.allocated_bytes, item.path)))


def _remarks(find: Find) -> str:
    remarks = []
    if find.strays:
        remarks.append(f"; with {find.strays} other file{'s' if find.strays > 1 else ''} in it")
    if find.freed_bytes < find.allocated_bytes:
        remarks.append("; other names keep a part of its bytes")
    return "".join(remarks)


def _unmanageable(path: bytes, homes: tuple[bytes, ...]) -> str:
    """Return why `reclaim` would refuse the path itself, with what helps; "" when nothing is known to be wrong."""
    text = path.decode("utf-8", "surrogateescape")
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text):
        return "its name holds a control character: rename it first"
    folder = posixpath.dirname(path)
    if folder in (b"/", b"/home") or folder in homes or posixpath.dirname(folder) == b"/home":
        return (
            "it lies directly in a home directory or in /, which cannot be managed: move it into a folder there first"
        )
    return ""
