"""Copies in object stores as the catalog has them: begun, gone on with, given up with what was uploaded of them."""

import re

from artifactctl import audit
from artifactctl.archiving.manifests import MANIFEST
from artifactctl.archiving.source import Source
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.archives import ArchiveCopy
from artifactctl.domain.artifacts import ReplicaState
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.errors import Refused
from artifactctl.stores.codecs import Codec
from artifactctl.stores.failures import StoreFailure
from artifactctl.stores.store import ObjectStore

_OBJECT = re.compile(r"[0-9]{8,}(\.[a-z]+)?")
_MOST_TRIES = 16
_NO_LETTERS = re.compile(r"[^A-Za-z0-9._-]+")


def folder_of(name: str, archive_id: int, catalog_id: str) -> str:
    """Return the prefix of a copy's objects: readable, and never that of another copy of any catalog."""
    return f"{_NO_LETTERS.sub('_', name)[:80]}/{catalog_id[:8]}-{archive_id}"


def begun_before(work: ArchivingWork, source: Source, url: str, codec: Codec) -> ArchiveCopy | None:
    """Return the copy that an earlier run began from the same source; one from another is given up."""
    with work.catalog.reading() as reading:
        known = reading.archives(artifact_ids=(source.artifact.artifact_id,))
    begun = [c for c in known if (c.url, c.codec, c.state) == (url, codec.name, ReplicaState.ARCHIVING)]
    for copy in begun:
        if copy.source_fingerprint == source.fingerprint:
            work.say(f"going on with the copy that was begun at {copy.begun_at:%Y-%m-%d %H:%M} UTC")
            return copy
        work.say("what an earlier run had copied is of no use any more: the original has changed since")
        remove_objects(work, source.artifact.name, copy)
        abandon(work, source.artifact.name, copy)
    return None


def remove_objects(work: ArchivingWork, name: str, copy: ArchiveCopy) -> None:
    """Remove what was uploaded of a copy that is given up; Refused where it has a manifest, and may be whole.

    It is ours alone: no copy is begun in a folder that holds anything.
    """
    store, folder = ObjectStore(copy.url), folder_of(name, copy.archive_id, work.catalog.lineage_id)
    if f"{folder}/{MANIFEST}" in store.listing(folder):
        codec = f" --codec {copy.codec}" if copy.codec != "raw" else ""
        raise Refused(
            f"the copy of {name} at {store.url}/{folder} has its manifest: it may be whole",
            remedy=f"`artifactctl archive {name} --to {copy.url}{codec}` brings it to its end",
        )
    store.abort_uploads(folder)
    store.remove(folder, named=_OBJECT)


def remove_whole(name: str, copy: ArchiveCopy, *, catalog_id: str) -> None:
    """Remove a finished copy, its manifest first: what a crash leaves then is no copy, and a second call removes it."""
    store, folder = ObjectStore(copy.url), folder_of(name, copy.archive_id, catalog_id)
    store.remove(folder, named=re.compile(re.escape(MANIFEST)))
    store.remove(folder, named=_OBJECT)


def abandon(work: ArchivingWork, name: str, copy: ArchiveCopy) -> None:
    """Let the catalog say that nothing came of a copy."""
    acting = work.acting()
    with work.catalog.writing(work.actor, acting.now) as writing:
        writing.abandon_archive(copy.archive_id)
        entry = acting.entry(AuditAction.ARCHIVE_ABANDON, artifact=name, reason=copy.url)
        audit.append(writing.connection, entry)


def begin(work: ArchivingWork, source: Source, store: ObjectStore, codec: Codec) -> ArchiveCopy:
    """Begin a copy whose folder is empty: a catalog that was put back gives numbers out a second time.

    StoreFailure where the store says of every folder that something is in it.
    """
    for _ in range(_MOST_TRIES):
        copy = _begin_next(work, source, store.url, codec)
        if not store.listing(folder_of(source.artifact.name, copy.archive_id, work.catalog.lineage_id)):
            return copy
        abandon(work, source.artifact.name, copy)
    raise StoreFailure(
        f"{store.url} says that objects are in folders that nobody used yet", remedy="use another store, or prefix"
    )


def _begin_next(work: ArchivingWork, source: Source, url: str, codec: Codec) -> ArchiveCopy:
    acting = work.acting_on(source.replica.root)
    with work.catalog.writing(work.actor, acting.now) as writing:
        copy = writing.begin_archive(
            source.artifact.artifact_id,
            url,
            codec=codec.name,
            files=len(source.files),
            size_bytes=source.size_bytes,
            source_fingerprint=source.fingerprint,
        )
        entry = acting.entry(
            AuditAction.ARCHIVE_BEGIN,
            artifact=source.artifact.name,
            path=source.target.absolute,
            size_bytes=source.size_bytes,
            evidence={"archive": copy.archive_id, "url": url, "codec": codec.name},
        )
        audit.append(writing.connection, entry)
    return copy
