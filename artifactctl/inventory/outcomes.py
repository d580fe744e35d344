"""What becomes of everything a walk finds: a report, and through the recorder the catalog."""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from artifactctl.catalog.members import Member
from artifactctl.domain.artifacts import ReplicaState, Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.observation import MemberDrift
from artifactctl.domain.stock import Drifted, Registered, ScanReport, Strays, UncataloguedFile
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Entry
from artifactctl.inventory.known import is_announced, layout_of
from artifactctl.inventory.naming import name_of
from artifactctl.inventory.recording import NewArtifact, Recorder
from artifactctl.inventory.tallies import KnownCopy, Measured, OpenTally, file_member, measure_file
from artifactctl.recognition.seen import join
from artifactctl.recognition.sightings import Sighting

MOST_EXAMPLES = 10
STILL_WARM = timedelta(minutes=15)
"""A torn artifact that was written to so recently is taken as unfinished: it may still grow."""

_FILES_A_TRANSACTION = 50

Progress = Callable[[int, int, bytes], None]
"""progress(files so far, allocated bytes so far, absolute path of the folder)."""


class Outcomes:
    """Collects the report of one target."""

    def __init__(self, root: Root, recorder: Recorder, *, host_time: datetime, progress: Progress | None) -> None:
        self._root = root
        self._recorder = recorder
        self._host_time = host_time
        self._progress = progress
        self._new_files: list[NewArtifact] = []
        self._registered: list[Registered] = []
        self._grown: list[Registered] = []
        self._drift: list[Drifted] = []
        self._strays: list[Strays] = []
        self._missing: list[str] = []
        self._found_again: list[str] = []
        self._touched: list[str] = []
        self._problems: list[str] = []
        self._notes: list[str] = []
        self._largest: list[tuple[int, bytes]] = []
        self._weighed: set[int] = set()
        self._uncatalogued_bytes = self._uncatalogued_files = 0
        self._files = self._allocated_bytes = 0

    def report(self) -> ScanReport:
        """Record what is still pending and return everything."""
        self._record_files()
        return ScanReport(
            registered=tuple(self._registered),
            grown=tuple(self._grown),
            drift=tuple(self._drift),
            strays=tuple(self._strays),
            missing=tuple(self._missing),
            found_again=tuple(self._found_again),
            touched=tuple(self._touched),
            uncatalogued_bytes=self._uncatalogued_bytes,
            uncatalogued_files=self._uncatalogued_files,
            uncatalogued_largest=tuple(
                UncataloguedFile(path=path, allocated_bytes=size) for size, path in sorted(self._largest, reverse=True)
            ),
            files=self._files,
            allocated_bytes=self._allocated_bytes,
            problems=tuple(self._problems),
            notes=tuple(self._notes),
        )

    # while walking

    def folder(self, relative: bytes, *, note: str) -> None:
        """Take note of a folder that is being entered."""
        if note:
            self._notes.append(f"{display_path(self._absolute(relative))}: {note}")
        if self._progress is not None:
            self._progress(self._files, self._allocated_bytes, self._absolute(relative))

    def problem(self, problem: str) -> None:
        """Take note of a folder that could not be read."""
        self._problems.append(problem)

    def weigh(self, entry: Entry) -> int:
        """Count a file of any kind; return its bytes on disk, 0 for a further name of an inode met before."""
        self._files += 1
        if entry.links > 1:
            if entry.inode in self._weighed:
                return 0
            self._weighed.add(entry.inode)
        self._allocated_bytes += entry.allocated_bytes
        return entry.allocated_bytes

    def uncatalogued(self, relative: bytes, weight_bytes: int, inside: OpenTally | None) -> None:
        """Take note of a file that is nobody's; `inside` an artifact's folder it is a stray."""
        self._uncatalogued_files += 1
        self._uncatalogued_bytes += weight_bytes
        largest = (weight_bytes, self._absolute(relative))
        if len(self._largest) < MOST_EXAMPLES:
            heapq.heappush(self._largest, largest)
        else:
            heapq.heappushpop(self._largest, largest)
        if inside is not None:
            inside.stray_files += 1
            inside.stray_bytes += weight_bytes
            if len(inside.stray_examples) < MOST_EXAMPLES:
                inside.stray_examples.append(self._absolute(relative))

    # artifacts

    def new_file(self, sighting: Sighting, entry: Entry) -> None:
        """Record a single-file artifact, some in one transaction."""
        measured = measure_file(entry)
        self._new_files.append(self._new(sighting, measured, [file_member(entry, sighting)], count=1))
        if len(self._new_files) >= _FILES_A_TRANSACTION:
            self._record_files()

    def _record_files(self) -> None:
        if self._new_files:
            names = self._recorder.register(self._new_files)
            for new, name in zip(self._new_files, names, strict=True):
                self._registered.append(self._as_registered(new, name))
        self._new_files = []

    def known_file(self, known: KnownCopy, entry: Entry, anew: Sighting | None, *, accepted: bool) -> None:
        """Compare a single-file artifact with the catalog."""
        measured = measure_file(entry)
        before = known.replica.apparent_bytes
        is_same = measured.member_digest == known.replica.member_digest and not known.replica.is_directory
        drift = (
            MemberDrift() if is_same else MemberDrift(resized=1, resized_examples=((b"", before, entry.size_bytes),))
        )
        new = None
        if anew is not None or accepted:
            sighting = anew or _sighting_of(known)
            new = self._new(sighting, measured, [file_member(entry, sighting)], count=1)
        self._judge(known, drift, measured, new, accepted=accepted)

    def ended(self, under_way: OpenTally) -> None:
        """Judge a folder artifact whose members have all passed."""
        tally, known = under_way.tally, under_way.known
        if tally.incomplete:
            if tally.compared is not None:
                tally.compared.close()
            what = known.artifact.name if known else display_path(self._absolute(tally.relative))
            self._problems.append(f"{what}: neither registered nor compared, since {tally.incomplete}")
            return
        measured = tally.measured()
        sighting = under_way.anew or under_way.artifact.completed()
        new = self._new(sighting, measured, tally.members, count=len(tally.members))
        if known is None:
            self._new_folder(new, under_way)
            return
        if tally.compared is not None:
            drift = tally.compared.end()
            kept = new if under_way.is_accepted else None
            self._judge(known, drift, measured, kept, accepted=under_way.is_accepted)
        else:
            self._judge(known, MemberDrift(), measured, new, accepted=False)
        self._note_strays(known.artifact.name, under_way)

    def _new_folder(self, new: NewArtifact, under_way: OpenTally) -> None:
        if new.measured.files == 0:
            return
        (name,) = self._recorder.register([new])
        self._registered.append(self._as_registered(new, name))
        self._note_strays(name, under_way)

    def _judge(
        self, known: KnownCopy, drift: MemberDrift, measured: Measured, new: NewArtifact | None, *, accepted: bool
    ) -> None:
        """Decide about a copy that the catalog has; `new` is what it would become."""
        name, replica = known.artifact.name, known.replica
        if replica.state is ReplicaState.MISSING:
            self._recorder.change_state(known, to=ReplicaState.LIVE, action=AuditAction.ARTIFACT_FOUND_AGAIN)
            self._found_again.append(name)
        has_changed = measured.member_digest != replica.member_digest
        if accepted and new is not None and (has_changed or not drift.is_none):
            if is_announced(known.artifact):
                new = replace(new, unfinished=False)  # a person says what its writer no longer can
            self._recorder.replace_members(known, new, action=AuditAction.ARTIFACT_ACCEPT_DRIFT, drift=drift)
            self._drift.append(Drifted(name=name, path=_path_of(known), drift=drift, accepted=True))
        elif not known.artifact.sealed and new is not None:
            if is_announced(known.artifact):
                new = replace(new, unfinished=True)  # its writer says when it is complete, not how it looks
            if has_changed or not new.unfinished:
                self._recorder.replace_members(known, new, action=AuditAction.ARTIFACT_GROW, drift=None)
                self._grown.append(self._as_registered(new, name))
        elif is_announced(known.artifact) and not known.artifact.sealed:
            return  # what its writer adds to it is no drift
        elif not drift.is_none:
            self._drift.append(Drifted(name=name, path=_path_of(known), drift=drift, accepted=False))
        elif measured.fingerprint != replica.fingerprint or measured.allocated_bytes != replica.allocated_bytes:
            self._recorder.refresh(known, measured)
            self._touched.append(name)

    def missing(self, known: KnownCopy) -> None:
        """Record that nothing is at the path of a copy any more."""
        self._recorder.change_state(known, to=ReplicaState.MISSING, action=AuditAction.ARTIFACT_MISSING)
        self._missing.append(known.artifact.name)

    # values

    def _new(self, sighting: Sighting, measured: Measured, members: Iterable[Member], *, count: int) -> NewArtifact:
        newest = datetime.fromtimestamp(measured.newest_ns / 1_000_000_000, UTC)
        warm_and_torn = bool(sighting.problems) and self._host_time - newest < STILL_WARM
        return NewArtifact(
            name=name_of(self._root, sighting.relative),
            sighting=sighting,
            measured=measured,
            members=members,
            member_count=count,
            unfinished=sighting.unfinished or warm_and_torn,
        )

    def _note_strays(self, name: str, under_way: OpenTally) -> None:
        if under_way.stray_files:
            self._strays.append(
                Strays(
                    name=name,
                    path=self._absolute(under_way.tally.relative),
                    files=under_way.stray_files,
                    allocated_bytes=under_way.stray_bytes,
                    examples=tuple(under_way.stray_examples),
                )
            )

    def _as_registered(self, new: NewArtifact, name: str) -> Registered:
        sighting = new.sighting
        return Registered(
            name=name,
            kind=sighting.kind,
            layout=sighting.layout.value,
            path=self._absolute(sighting.relative),
            files=new.measured.files,
            allocated_bytes=new.measured.allocated_bytes,
            tokens=sighting.tokens,
            records=sighting.records,
            problems=sighting.problems,
            unfinished=new.unfinished,
        )

    def _absolute(self, relative: bytes) -> bytes:
        return join(self._root.path, relative) if relative else self._root.path


def _path_of(known: KnownCopy) -> bytes:
    return join(known.replica.root.path, known.replica.relative)


def _sighting_of(known: KnownCopy) -> Sighting:
    return Sighting(
        kind=known.artifact.kind,
        relative=known.replica.relative,
        is_directory=known.replica.is_directory,
        layout=layout_of(known.artifact),
        tokens=known.artifact.tokens,
        records=known.artifact.records,
    )
