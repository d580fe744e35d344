"""`extract convert`: the records of a dump, bit for bit, in another layout; admitted, resumed and registered."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from artifactctl.api import Session
from artifactctl.api.formats import Codec
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, ReplicaState, Reservation
from artifactctl.domain.errors import ArtifactctlError, ExitCode, Refused, UsageError
from extract.shards.dumps import Dump, DumpLayout, DumpWriter, each_record, open_dump
from extract.shards.fingerprint import RunFingerprint
from extract.shards.manifest import NAME, Rejected, read_packed_manifest
from extract.shards.packing import SHARD_BYTES, PackedWriter
from extract.shards.records import BrokenRecord, RejectedRecord, token_hash
from extract.shards.specforge import SpecForgeWriter
from extract.shards.speculators import SpeculatorsWriter
from extract.shards.writer import ShardPlan

LONGEST_RUN = timedelta(days=7)
SHORTEST_PROMISE = timedelta(hours=1)
SLOWEST_BYTES_A_SECOND = 20_000_000
"""Room is promised for as long as a slow disk takes, not for the longest run: a killed one cannot give it back."""

TOLD_EVERY_BYTES = 256 * 2**20
_FILE_BYTES = 8192
"""What a file of its own costs beyond its content: header, half a block, its entry."""

_LABEL_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What was wanted: the artifact to convert, and what to make of it where."""

    name: str
    layout: DumpLayout
    out: Path
    codec: Codec = Codec.NONE
    shard_bytes: int = SHARD_BYTES
    new_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was copied, those of an interrupted run included; `rejected` could not be."""

    records: int
    tokens: int
    rejected: tuple[Rejected, ...]


class Stopped(ArtifactctlError):
    """Somebody asked the conversion to stop. What is whole stays, and the same command goes on from there."""

    exit_code = ExitCode.PARTLY_DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What became of it. `rejected` records are in the source and not in the new dump."""

    artifact: Artifact
    records: int
    tokens: int
    rejected: tuple[Rejected, ...]


def convert(session: Session, wanted: Conversion, *, progress: Callable[[int], None]) -> Converted:
    """Write the dump anew, register it as extracted from the first, and return what it holds.

    An interrupted conversion goes on where it stopped when the same is asked for again. UsageError and Refused before
    anything is written when the artifact is no dump, or the layout cannot hold what is in it.
    """
    source = session.artifact(wanted.name)
    if source.kind is not ArtifactKind.HIDDEN_STATES:
        raise UsageError(f"{source.name} is a {source.kind.value}", remedy="name hidden states")
    dump = open_dump(Path(os.fsdecode(session.path(wanted.name))), session.files(wanted.name))
    try:
        require_convertible(dump, wanted.layout)
        with session.lease([source.name], until=session.now + LONGEST_RUN):
            return _convert(session, wanted, source, dump, progress)
    finally:
        dump.close()


def require_convertible(dump: Dump, layout: DumpLayout) -> None:
    """Return when the layout can hold the dump's records without loss; Refused otherwise, and nothing is touched."""
    if layout is DumpLayout.SPECFORGE:
        SpecForgeWriter.require_form(dump.form)
    if layout is DumpLayout.SPECULATORS:
        SpeculatorsWriter.require_form(dump.form)


def writer_for(plan: ShardPlan, wanted: Conversion, on_bytes: Callable[[int], None]) -> DumpWriter:
    """Return the writer of the wanted layout in the existing folder; `on_bytes` hears of each shard's size."""
    if wanted.layout is DumpLayout.SPECFORGE:
        return SpecForgeWriter(wanted.out, plan.form)
    if wanted.layout is DumpLayout.SPECULATORS:
        return SpeculatorsWriter(wanted.out, plan.form)
    return PackedWriter(
        wanted.out, plan, shard_bytes=wanted.shard_bytes, on_shard=lambda shard: on_bytes(shard.size_bytes)
    )


def _convert(
    session: Session, wanted: Conversion, source: Artifact, dump: Dump, progress: Callable[[int], None]
) -> Converted:
    building = _announced(session, wanted, source)
    plan = ShardPlan(form=dump.form, fingerprint=_fingerprint(wanted, source, dump), codec=wanted.codec)
    copied = _copied_before(wanted, plan)
    if copied is None:
        room = _reserved(session, wanted, source, dump)
        # A shard's room is allocated before its first byte: a small dump asks for no more than all of it takes.
        fitting = replace(wanted, shard_bytes=min(wanted.shard_bytes, room.reserved_bytes))
        try:
            copied = _copy(session, fitting, plan, dump, room, progress)
        finally:
            session.release(room)
    sealed = session.seal(building, tokens=copied.tokens, records=copied.records)
    return Converted(artifact=sealed, records=copied.records, tokens=copied.tokens, rejected=copied.rejected)


def _copied_before(wanted: Conversion, plan: ShardPlan) -> Copied | None:
    """Return what an interrupted run completed and could not seal any more; None when there is still work."""
    if wanted.layout is not DumpLayout.PACKED or not (wanted.out / NAME).exists():
        return None
    manifest = read_packed_manifest(wanted.out)
    if manifest.plan != plan:
        raise Refused(f"{wanted.out} was made by another conversion", remedy="give another --out")
    return Copied(records=manifest.records, tokens=manifest.tokens, rejected=manifest.rejected)


def _copy(
    session: Session,
    wanted: Conversion,
    plan: ShardPlan,
    dump: Dump,
    room: Reservation,
    progress: Callable[[int], None],
) -> Copied:
    filling = Filling(session, room)
    writer = writer_for(plan, wanted, filling.add)

    def after(record_bytes: int) -> None:
        progress(1)
        if wanted.layout is not DumpLayout.PACKED:  # shards are counted when they are whole
            filling.add(record_bytes)

    try:
        return copy_records(dump, writer, after)
    except KeyboardInterrupt as interrupt:
        writer.abandon()
        raise Stopped(
            f"stopped: {wanted.out} is not complete", remedy="the same command goes on from here"
        ) from interrupt
    except BaseException:
        writer.abandon()
        raise


class Filling:
    """Tells the catalog how much of a promise is used by now, some bytes at a time."""

    def __init__(self, session: Session, room: Reservation) -> None:
        self._session = session
        self._room = room
        self._filled_bytes = self._told_bytes = 0

    def add(self, size_bytes: int) -> None:
        """Count bytes that are on disk."""
        self._filled_bytes = min(self._filled_bytes + size_bytes, self._room.reserved_bytes)
        if self._filled_bytes - self._told_bytes >= TOLD_EVERY_BYTES:
            self._session.fill(self._room, filled_bytes=self._filled_bytes)
            self._told_bytes = self._filled_bytes


def copy_records(dump: Dump, writer: DumpWriter, after: Callable[[int], None]) -> Copied:
    """Write every record that is whole; `after` each one hears the bytes of its states, 0 where it was not written."""
    before = Counter(writer.written if isinstance(writer, PackedWriter) else ())
    records = tokens = 0
    rejected = []
    for record in each_record(dump):
        if isinstance(record, BrokenRecord):
            writer.reject(record.index, record.reason)
            rejected.append(Rejected(index=record.index, reason=record.reason))
            after(0)
            continue
        try:
            key = token_hash(record.token_ids)
            if before[key]:  # of an interrupted run, which took the records in the same order
                before[key] -= 1
            else:
                writer.append(record)
        except RejectedRecord as unfit:
            rejected.append(Rejected(index=record.index, reason=str(unfit)))
            after(0)
            continue
        records, tokens = records + 1, tokens + record.tokens
        after(record.states.nbytes)
    writer.complete()
    return Copied(records=records, tokens=tokens, rejected=tuple(rejected))


def _announced(session: Session, wanted: Conversion, source: Artifact) -> Artifact:
    """Return the artifact that is being built at the place, announced by us or by an interrupted run before."""
    try:
        known = session.artifact(str(wanted.out.absolute()))
    except UsageError:
        session.require_place(wanted.out)
        wanted.out.mkdir(parents=True, exist_ok=True)
        return session.register(
            wanted.out,
            kind=ArtifactKind.HIDDEN_STATES,
            name=wanted.new_name,
            inputs=[f"{source.name}:{LineageRole.EXTRACTED_FROM.value}"],
            labels=dict(source.labels) | {"codec": wanted.codec.value},
            building=True,
        )
    if all(replica.state is not ReplicaState.BUILDING for replica in known.replicas):
        raise Refused(f"{known.name} is complete and lies there", remedy="give another --out")
    return known


def _reserved(session: Session, wanted: Conversion, source: Artifact, dump: Dump) -> Reservation:
    """Have the room promised that the new dump takes at most."""
    tokens = source.tokens
    states_bytes = source.allocated_bytes if tokens is None else tokens * (dump.form.row_bytes + _LABEL_BYTES)
    is_packed = wanted.layout is DumpLayout.PACKED
    files = 2 + states_bytes // wanted.shard_bytes if is_packed else len(dump)
    reserved_bytes = states_bytes + files * _FILE_BYTES
    duration = max(SHORTEST_PROMISE, timedelta(seconds=reserved_bytes / SLOWEST_BYTES_A_SECOND))
    return session.reserve(
        wanted.out,
        reserved_bytes=reserved_bytes,
        files=files,
        purpose=f"conversion of {source.name}",
        until=session.now + duration,
    )


def _fingerprint(wanted: Conversion, source: Artifact, dump: Dump) -> RunFingerprint:
    """Return what the dump was made of, as far as it says so, in the codec that is wanted."""
    known = dump.fingerprint
    form = dump.form
    layers = "" if form.layers is None else ",".join(map(str, form.layers))
    said = RunFingerprint(corpus=source.name, layers=layers) if known is None else known
    decided = {"norm": form.final_state.value, "dtype": form.element.value, "codec": wanted.codec.value}
    return RunFingerprint(**said.as_json() | decided)
