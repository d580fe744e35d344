"""Telling the catalog that a copy is there: live and verified, in the transaction that makes it count."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from artifactctl import audit
from artifactctl.archiving.failures import NotTheSameBytes
from artifactctl.archiving.work import ArchivingWork
from artifactctl.catalog import StateChanged
from artifactctl.domain.artifacts import Replica, ReplicaState, Root, VerifyLevel
from artifactctl.domain.audit import AuditAction, JsonValue
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.observation import TreeSummary
from artifactctl.domain.text import display_path
from artifactctl.hosts.copies import CopyEntry
from artifactctl.inventory.digesting import content_line

_SECOND_NS = 1_000_000_000


def record_copy(
    work: ArchivingWork,
    name: str,
    root: Root,
    relative: bytes,
    *,
    entries: Sequence[CopyEntry],
    digests: Mapping[bytes, str],
    evidence: Mapping[str, JsonValue],
    is_proven: bool = True,
) -> Replica:
    """Call the copy at a place live, and verified by digests.

    `entries` is what it must have, `digests` what was read back of its files. NotTheSameBytes when something else
    stands there by now. `is_proven` false: it was in its place before we came, where somebody may have written to it,
    so it is not called verified.
    """
    host = work.host_of(root)
    place = ManagedPath(root=root.path, relative=relative)
    catalog = work.catalog
    seen = host.observe(root, place, catalog_id=catalog.lineage_id, catalog_epoch=catalog.look_up_epoch())
    found, problems = host.copy_entries(root, place)
    if seen.tree is None or problems or _comparable(found) != _comparable(entries):
        raise NotTheSameBytes(
            f"what stands at {display_path(place.absolute)} is not what was copied there a moment ago",
            remedy=f"find out who changed it; `artifactctl verify {name} --level digests` looks at all copies",
        )
    facts = {**evidence, "level": VerifyLevel.DIGESTS.value if is_proven else None}
    return _record(
        work, name, root, relative, tree=seen.tree, digests=digests_of_all_names(entries, digests), facts=facts
    )


def _record(
    work: ArchivingWork,
    name: str,
    root: Root,
    relative: bytes,
    *,
    tree: TreeSummary,
    digests: Mapping[bytes, bytes],
    facts: Mapping[str, JsonValue],
) -> Replica:
    acting = work.acting_on(root)
    with work.catalog.writing(work.actor, acting.now) as writing:
        artifact = writing.artifact(name)
        copies = artifact.replicas if artifact is not None else ()
        there = (root.root_id, relative, ReplicaState.ARCHIVING)
        replica = next((r for r in copies if (r.root.root_id, r.relative, r.state) == there), None)
        if artifact is None or replica is None:
            raise StateChanged(
                f"the catalog knows no copy of {name} that is being made below {display_path(root.path)}",
                remedy="artifactctl doctor",
            )
        writing.record_replica(
            replica.replica_id,
            files=tree.files,
            apparent_bytes=tree.apparent_bytes,
            allocated_bytes=tree.allocated_bytes,
            member_digest=tree.member_digest,
            fingerprint=tree.fingerprint,
            observed_at=acting.now,
        )
        writing.change_state(replica.replica_id, expected={ReplicaState.ARCHIVING}, to=ReplicaState.LIVE)
        if facts["level"] is not None:
            writing.set_verified(replica.replica_id, VerifyLevel.DIGESTS, tree.fingerprint, ok=True)
        writing.set_digests(artifact.artifact_id, digests.items())
        writing.update_artifact(artifact.artifact_id, content_digest=content_digest_of(digests))
        entry = acting.entry(
            AuditAction.ARCHIVE_DONE,
            artifact=name,
            path=root.path + b"/" + relative,
            size_bytes=tree.allocated_bytes,
            evidence={**facts, "fingerprint": tree.fingerprint},
        )
        audit.append(writing.connection, entry)
        done = writing.artifact_by_id(artifact.artifact_id)
    assert done is not None
    return next(r for r in done.replicas if r.replica_id == replica.replica_id)


def _comparable(entries: Iterable[CopyEntry]) -> list[tuple[object, ...]]:
    """Return what must be the same in a copy: which names are one inode by the first of them, times to the second.

    Not every filesystem keeps nanoseconds.
    """
    first: dict[int, bytes] = {}
    found: list[tuple[object, ...]] = []
    for entry in entries:
        group = first.setdefault(entry.group, entry.relative) if entry.group else b""
        found.append((*entry[:4], entry.modified_ns // _SECOND_NS, entry.link_target, group))
    return found


def digests_of_all_names(entries: Iterable[CopyEntry], digests: Mapping[bytes, str]) -> dict[bytes, bytes]:
    """Return the digest of every file, that of a further name of an inode from its first."""
    first: dict[int, bytes] = {}
    found: dict[bytes, bytes] = {}
    for entry in entries:
        if entry.letter == "f":
            name = first.setdefault(entry.group, entry.relative) if entry.group else entry.relative
            found[entry.relative] = bytes.fromhex(digests[name])
    return found


def content_digest_of(digests: Mapping[bytes, bytes]) -> str:
    """Return the content digest of an artifact by the digests of its files, as `verify` does."""
    content = hashlib.sha256()
    for relative, digest in digests.items():
        content.update(content_line(relative, digest))
    return content.hexdigest()
