"""A copy in an object store: an object a file, each read back over the wire, and a manifest that is written last.

1. The catalog knows of the copy, as one that counts for nothing.
2. Each file is uploaded, read back, decoded, hashed and compared; only then is it recorded as there.
3. The source is still what it was.
4. The manifest is written, and read back.
5. Every object is there as it was read back; which objects that were becomes the copy's fingerprint.
6. The catalog calls it archived and verified, in one transaction.

Several files go at the same time. A later run goes on with those that were not recorded; what an interrupted upload
left is aborted first.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from artifactctl import audit
from artifactctl.archiving.archive import hosts_between, require_role
from artifactctl.archiving.copying import require_stored_digest
from artifactctl.archiving.failures import NotTheSameBytes, UnfitDestination
from artifactctl.archiving.manifests import MANIFEST, Manifest, StoredMember
from artifactctl.archiving.pieces import Counted, Pace, Pieces, pieces_of_replica, zeros
from artifactctl.archiving.promises import kept_while_copying
from artifactctl.archiving.recording import content_digest_of, digests_of_all_names
from artifactctl.archiving.source import Source, examine, require_unchanged
from artifactctl.archiving.store_copies import begin, begun_before, folder_of
from artifactctl.archiving.work import ArchivingWork
from artifactctl.domain.archives import ArchiveCopy, ArchivedObject
from artifactctl.domain.artifacts import Artifact, Replica
from artifactctl.domain.audit import AuditAction
from artifactctl.hosts.copies import CopyEntry
from artifactctl.inventory.machines import roots_here
from artifactctl.report.archive import CopyMade, CopyPlace
from artifactctl.stores.codecs import CODECS, Codec, Undecodable
from artifactctl.stores.fingerprints import fingerprint_of
from artifactctl.stores.store import ObjectStore

AT_ONCE = 4
"""So many files are under way to a store: each holds one part, and a store answers each one late."""
_LOOK_SECONDS = 1.0


def archive_to_store(work: ArchivingWork, artifact: Artifact, replica: Replica, url: str, codec: Codec) -> CopyMade:
    """Copy a live replica to an object store; the copy is verified when it returns, unless it was stopped."""
    require_role(work, artifact)
    store = ObjectStore(url)
    _refuse_managed(work, url)
    source = examine(work, artifact, replica)
    began_at = work.elapsed_clock()
    with kept_while_copying(work, source, None, size_bytes=source.size_bytes) as kept:
        copy = begun_before(work, source, store.url, codec) or begin(work, source, store, codec)
        upload = _Upload(work, source, store, copy, kept.sign_of_life)
        stopped = upload.run()
        seconds = work.elapsed_clock() - began_at
        if not stopped:
            require_unchanged(work, source)
            upload.finish(seconds)
    return CopyMade(
        name=artifact.name,
        source=work.place(replica.root, replica.relative),
        destination=CopyPlace(path=store.url.encode()),
        size_bytes=source.size_bytes,
        sent_bytes=upload.sent_bytes,
        files=len(source.files),
        seconds=seconds,
        origin="store",
        is_verified=not stopped,
    )


def _refuse_managed(work: ArchivingWork, url: str) -> None:
    """Refuse a folder as a store where it lies in a root, or around one: there only the machine itself writes."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        return
    path = unquote(parts.path).encode("utf-8", "surrogateescape").rstrip(b"/") + b"/"
    with work.catalog.reading() as reading:
        roots = roots_here(reading, work.identity())
    for root in roots:
        top = root.path.rstrip(b"/") + b"/"
        if path.startswith(top) or top.startswith(path):
            raise UnfitDestination(
                f"{url} lies in the root {root.name}, or around it", remedy=f"name the root instead: --to {root.name}"
            )


class _Upload:
    """One run over the files of one copy."""

    def __init__(
        self,
        work: ArchivingWork,
        source: Source,
        store: ObjectStore,
        copy: ArchiveCopy,
        sign_of_life: Callable[[int], None],
    ) -> None:
        self._work = work
        self._source = source
        self._store = store
        self._copy = copy
        self._codec = CODECS[copy.codec]
        self._folder = folder_of(source.artifact.name, copy.archive_id, work.catalog.lineage_id)
        self._sign_of_life = sign_of_life
        self._pace = Pace(work)
        self._is_over = threading.Event()
        self._read: Pieces = pieces_of_replica(work, source)
        with work.catalog.reading() as reading:
            self._done = {item.number: item for item in reading.archived_objects(copy.archive_id)}
            pairs = reading.digests(source.artifact.artifact_id)
            self._stored: Mapping[bytes, bytes] = {name: digest for name, digest in pairs if digest is not None}

    @property
    def sent_bytes(self) -> int:
        """The bytes that this run read and sent."""
        return self._pace.passed_bytes

    def run(self) -> bool:
        """Upload and read back every file that is not there yet; returns whether it was stopped before the end.

        Several go at the same time; the catalog is told, and the lease renewed, by the calling thread alone.
        """
        self._store.abort_uploads(self._folder)
        missing = []
        for number, entry in enumerate(self._source.files):
            if number in self._done:
                self._work.progress(entry.size_bytes)
            else:
                missing.append((number, entry))
        with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
            try:
                failures = self._follow([threads.submit(self._upload, *each) for each in missing])
            finally:
                self._is_over.set()  # whoever is still at it stops with the piece in hand
        for failure in failures:
            if not isinstance(failure, _Stopped):
                raise failure
        return bool(failures)

    def _follow(self, uploads: Iterable["Future[ArchivedObject]"]) -> list[BaseException]:
        """Record each upload when it is done; after the first failure nothing more is begun."""
        failures: list[BaseException] = []
        running = set(uploads)
        while running:
            done, running = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            self._sign_of_life(self._pace.passed_bytes)
            for each in done:
                failure = each.exception()
                if failure is None:
                    self._keep(each.result())
                else:
                    failures.append(failure)
                    self._is_over.set()
        return failures

    def _keep(self, item: ArchivedObject) -> None:
        with self._work.catalog.writing(self._work.actor, self._work.clock()) as writing:
            writing.add_archived_objects(self._copy.archive_id, [item])
        self._done[item.number] = item

    def _key(self, number: int) -> str:
        return f"{self._folder}/{number:08d}{self._codec.suffix}"

    def _upload(self, number: int, entry: CopyEntry) -> ArchivedObject:
        if self._is_over.is_set():
            raise _Stopped
        plain, coded = Counted(self._plain(entry)), Counted(())
        coded.pieces = self._codec.encode(plain)
        self._store.put(self._key(number), coded)
        require_stored_digest(self._source, entry, plain.digest, self._stored)
        back = Counted(self._store.read(self._key(number)))
        decoded = Counted(self._codec.decode(back))
        with suppress(Undecodable):  # then its digest is not that of what was written
            decoded.drain()
        if (decoded.digest, back.digest) != (plain.digest, coded.digest):
            raise NotTheSameBytes(
                f"{self._store.url}/{self._key(number)} is not what was sent: {coded.digest[:16]} "
                f"({coded.size_bytes} bytes) was written, {back.digest[:16]} ({back.size_bytes} bytes) was read back",
                remedy="the store, or something before it, does not keep what it is given: use another one",
            )
        return ArchivedObject(
            number=number, digest=plain.digest, stored_digest=coded.digest, stored_bytes=coded.size_bytes
        )

    def _plain(self, entry: CopyEntry) -> Iterator[bytes]:
        """Yield all bytes of a file, holes as the zeros that they are."""
        position = 0
        for offset, content in self._read(entry):
            if self._is_over.is_set() or self._work.should_stop():
                raise _Stopped
            yield from zeros(offset - position)
            yield content
            position = offset + len(content)
            self._pace.passed(len(content))
        yield from zeros(entry.size_bytes - position)

    def finish(self, seconds: float) -> None:
        """Write the manifest, see that every object is there, and let the catalog say so."""
        files = self._source.files
        digests = {entry.relative: self._done[number].digest for number, entry in enumerate(files)}
        of_all = digests_of_all_names(self._source.entries, digests)
        manifest = Manifest(
            name=self._source.artifact.name,
            kind=self._source.artifact.kind.value,
            codec=self._codec.name,
            content_digest=content_digest_of(of_all),
            entries=self._source.entries,
            members={entry.relative: self._member(number) for number, entry in enumerate(files)},
        ).encoded()
        key = f"{self._folder}/{MANIFEST}"
        self._store.put(key, [manifest])
        if self._store.get(key) != manifest:
            raise NotTheSameBytes(f"{self._store.url}/{key} is not what was sent", remedy="use another store")
        sizes = {self._key(number): item.stored_bytes for number, item in self._done.items()}
        fingerprint = fingerprint_of(self._store, self._folder, {**sizes, key: len(manifest)})
        self._record(
            of_all, manifest=hashlib.sha256(manifest).hexdigest(), fingerprint=fingerprint, seconds=round(seconds, 3)
        )

    def _member(self, number: int) -> StoredMember:
        item = self._done[number]
        return StoredMember(
            key=f"{number:08d}{self._codec.suffix}",
            digest=item.digest,
            stored_digest=item.stored_digest,
            stored_bytes=item.stored_bytes,
        )

    def _record(self, digests: Mapping[bytes, bytes], *, manifest: str, fingerprint: str, seconds: float) -> None:
        acting, artifact = self._work.acting_on(self._source.replica.root), self._source.artifact
        stored_bytes = sum(item.stored_bytes for item in self._done.values())
        with self._work.catalog.writing(self._work.actor, acting.now) as writing:
            writing.finish_archive(
                self._copy.archive_id,
                stored_bytes=stored_bytes,
                content_digest=content_digest_of(digests),
                manifest=manifest,
                fingerprint=fingerprint,
            )
            writing.set_digests(artifact.artifact_id, digests.items())
            writing.update_artifact(artifact.artifact_id, content_digest=content_digest_of(digests))
            entry = acting.entry(
                AuditAction.ARCHIVE_DONE,
                artifact=artifact.name,
                path=self._source.target.absolute,
                size_bytes=stored_bytes,
                evidence={
                    "archive": self._copy.archive_id,
                    "url": self._copy.url,
                    "manifest": manifest,
                    "fingerprint": fingerprint,
                    "sent_bytes": self.sent_bytes,
                    "seconds": seconds,
                    **hosts_between(self._work, self._source.replica, None),
                },
            )
            audit.append(writing.connection, entry)


class _Stopped(Exception):
    """A stop was asked for in the middle of an upload, which is aborted thereby."""
