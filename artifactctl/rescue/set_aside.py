"""What lies in quarantine below a path: bytes that somebody decided about and that a purge would free."""

import posixpath
from collections.abc import Iterable
from datetime import datetime

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import ArtifactctlError
from artifactctl.report.instants import format_instant
from artifactctl.report.rescue_values import RescueCandidate
from artifactctl.rescue.choosing import is_expired
from artifactctl.rescue.knowledge import Knowledge
from artifactctl.rescue.regret import Regret
from artifactctl.rescue.watching import FirstAidHost


def set_aside_candidates(knowledge: Knowledge, *, now: datetime) -> tuple[RescueCandidate, ...]:
    """Return what the catalog has in quarantine, expired first; only the expired may be part of the command."""
    found = []
    for item in knowledge.set_aside:
        until = item.grace_until
        expired = is_expired(until, now=now, clock_trusted=knowledge.clock_trusted)
        kept = f"kept until {format_instant(until)}" if until is not None else "kept until somebody decides"
        found.append(
            RescueCandidate(
                path=item.original,
                kind=item.kind,
                allocated_bytes=item.allocated_bytes,
                freed_bytes=item.freed_bytes,
                why="in quarantine, its grace is over" if expired else f"in quarantine, {kept}",
                regret=Regret.SET_ASIDE,
                modified_at=item.since,
                operation=item.operation,
                caution="" if expired else f"it can still be restored ({kept}); purge it by name if you are sure",
            )
        )
    return tuple(sorted(found, key=lambda c: (bool(c.caution), -c.freed_bytes, c.path)))


def quarantined_bytes(host: FirstAidHost, top: bytes, roots: Iterable[bytes], problems: list[str]) -> int:
    """Return the bytes in the quarantines of all roots at or below `top`, by their own journals."""
    total = 0
    for path in sorted({top, *(posixpath.join(top, relative) if relative else top for relative in roots)}):
        try:
            root = _root_at(host, path)
            records = host.operations(root) if root is not None else ()
        except ArtifactctlError as failure:
            problems.append(failure.message)
            continue
        total += sum(r.allocated_bytes for r in records if r.in_quarantine or r.in_purging)
    return total


def _root_at(host: FirstAidHost, path: bytes) -> Root | None:
    marker = host.read_marker(path)
    if marker is None:
        return None
    return Root(
        root_id=marker.root_id,
        name=marker.name,
        host_id=0,
        path=path,
        filesystem_uuid=marker.filesystem_uuid,
        filesystem_type="",
        inode=marker.inode,
    )
