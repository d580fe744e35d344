"""`extract convert`: the records of a dump, bit for bit, in another layout; admitted, resumed and registered."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from artifactctl.api import Session
from artifactctl.api.formats import Codec
from artifactctl.api.shares import HeldShare
from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole, ReplicaState, Reservation
from artifactctl.domain.errors import ArtifactctlError, Busy, ExitCode, Refused, UsageError
from extract.joining import STAGE, join_making, require_unused
from extract.shards.dumps import Dump, DumpLayout, DumpWriter, each_record, open_dump
from extract.shards.fingerprint import RunFingerprint
from extract.shards.manifest import NAME, Rejected, read_packed_manifest
from extract.shards.packing import SHARD_BYTES, PackedWriter
from extract.shards.records import BrokenRecord, RejectedRecord, token_hash
from extract.shards.room import Filling, reserve_rest
from extract.shards.specforge import SpecForgeWriter
from extract.shards.speculators import SpeculatorsWriter
from extract.shards.writer import ShardPlan

_STAGE = "conversion"
LONGEST_RUN = timedelta(days=7)


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
    known = _known(session, wanted)
    work = join_making(
        session,
        known or _announced(session, wanted, source),
        wanted.out,
        kind=ArtifactKind.HIDDEN_STATES,
        identity=identity_of(wanted, source),
        shares=1,
        is_ours=known is None,
    )
    held = work.claim()
    if held is None:
        raise Busy(f"another program is converting to {wanted.out}", remedy="wait for it, or give another --out")
    with held:
        plan = ShardPlan(form=dump.form, fingerprint=_fingerprint(wanted, source, dump), codec=wanted.codec)
        copied = _copied_before(wanted, plan) or _copied_now(session, wanted, plan, source, dump, held, progress)
        held.prove({each.index: each.reason for each in copied.rejected})
        sealed = session.seal(work.artifact, tokens=copied.tokens, records=copied.records)
        held.finish(records=copied.records, tokens=copied.tokens, size_bytes=sealed.allocated_bytes)
    return Converted(artifact=sealed, records=copied.records, tokens=copied.tokens, rejected=copied.rejected)


def _copied_now(
    session: Session,
    wanted: Conversion,
    plan: ShardPlan,
    source: Artifact,
    dump: Dump,
    held: HeldShare,
    progress: Callable[[int], None],
) -> Copied:
    is_packed = wanted.layout is DumpLayout.PACKED
    room = reserve_rest(session, wanted.out, source, dump, shard_bytes=wanted.shard_bytes if is_packed else None)
    # A shard's room is allocated before its first byte: a small dump asks for no more than all of it takes.
    fitting = replace(wanted, shard_bytes=min(wanted.shard_bytes, room.reserved_bytes))

    def advance(records: int) -> None:
        held.check()
        progress(records)

    try:
        return _copy(session, fitting, plan, dump, room, advance)
    finally:
        session.release(room)


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


def identity_of(wanted: Conversion, source: Artifact) -> dict[str, str]:
    """Return what a conversion at a place has to agree in with the one that was begun there."""
    return {STAGE: _STAGE, "source": source.name, "layout": wanted.layout.value, "codec": wanted.codec.value}


def _known(session: Session, wanted: Conversion) -> Artifact | None:
    """Return the artifact that is being built at the place, None when there is none; Refused for a complete one."""
    try:
        known = session.artifact(str(wanted.out.absolute()))
    except UsageError:
        return None
    if all(replica.state is not ReplicaState.BUILDING for replica in known.replicas):
        raise Refused(f"{known.name} is complete and lies there", remedy="give another --out")
    return known


def _announced(session: Session, wanted: Conversion, source: Artifact) -> Artifact:
    session.require_place(wanted.out)
    require_unused(wanted.out, packed=wanted.layout is DumpLayout.PACKED)
    wanted.out.mkdir(parents=True, exist_ok=True)
    return session.register(
        wanted.out,
        kind=ArtifactKind.HIDDEN_STATES,
        name=wanted.new_name,
        inputs=[f"{source.name}:{LineageRole.EXTRACTED_FROM.value}"],
        labels=dict(source.labels) | {"codec": wanted.codec.value},
        building=True,
    )


def _fingerprint(wanted: Conversion, source: Artifact, dump: Dump) -> RunFingerprint:
    """Return what the dump was made of, as far as it says so, in the codec that is wanted."""
    known = dump.fingerprint
    form = dump.form
    layers = "" if form.layers is None else ",".join(map(str, form.layers))
    said = RunFingerprint(corpus=source.name, layers=layers) if known is None else known
    decided = {"norm": form.final_state.value, "dtype": form.element.value, "codec": wanted.codec.value}
    return RunFingerprint(**said.as_json() | decided)
