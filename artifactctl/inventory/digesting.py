"""Digests of members: stored the first time, compared from then on."""

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Artifact
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.copies import Copy
from artifactctl.inventory.tensor_checksums import changed_tensors
from artifactctl.recognition.seen import join

_DIGESTS_A_TRANSACTION = 2000


def check_digests(
    host: Host,
    catalog: Catalog,
    artifact: Artifact,
    copy: Copy,
    *,
    now: datetime,
    actor: str,
    progress: Callable[[int], None] | None,
) -> list[str]:
    """Read every member; return those whose bytes are not the stored ones.

    Members without a stored digest get theirs, also after an interruption, so that a later run goes on from there; on
    this machine a shard that carries checksums of its tensors has to agree with them first. The artifact's content
    digest is stored when every member is as it was.
    """
    problems: list[str] = []
    fresh: list[tuple[bytes, bytes]] = []
    content = hashlib.sha256()
    with catalog.reading() as reading:
        stored = {relative: digest for relative, digest in reading.digests(artifact.artifact_id) if digest is not None}
    for relative, letter, size_bytes, _tokens in copy.members:
        if letter != "f":
            continue
        path = join(copy.path, relative) if relative else copy.path
        digest = bytes.fromhex(host.digest(path, progress=progress))
        content.update(content_line(relative, digest))
        before = stored.pop(relative, None)
        if before is None:
            contradictions = _contradictions(host, path, size_bytes, progress)
            problems += [f"{display_path(relative)}: {problem}" for problem in contradictions]
            fresh += [(relative, digest)] if not contradictions else []
        elif before != digest:
            problems.append(f"{display_path(relative)}: its bytes are not those whose digest was stored")
        if len(fresh) >= _DIGESTS_A_TRANSACTION:
            _store(catalog, artifact, fresh, now=now, actor=actor)
            fresh = []
    _store(catalog, artifact, fresh, now=now, actor=actor)
    if not problems:
        with catalog.writing(actor, now) as writing:
            writing.update_artifact(artifact.artifact_id, content_digest=content.hexdigest())
    return problems


def _contradictions(
    host: Host, path: bytes, size_bytes: int, progress: Callable[[int], None] | None
) -> tuple[str, ...]:
    """Return where a file is not what its writer recorded in it; over a wire that would mean to fetch all of it."""
    return () if host.identify().elsewhere else changed_tensors(host, path, size_bytes, progress=progress)


def content_line(relative: bytes, digest: bytes) -> bytes:
    """Return what an artifact's content digest takes in of each of its files, in `member_order`."""
    return b"%b\0%b\n" % (relative, digest)


def _store(
    catalog: Catalog, artifact: Artifact, fresh: Sequence[tuple[bytes, bytes]], *, now: datetime, actor: str
) -> None:
    if fresh:
        with catalog.writing(actor, now) as writing:
            writing.set_digests(artifact.artifact_id, fresh)
