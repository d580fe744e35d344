"""How far each root has seen this catalog go, so that an older file copied over the catalog's own is noticed.

`.artifactctl/catalog.json` holds the newest event of the audit chain as it was when the catalog was last changed. A
catalog that does not have that event is older than what the root has seen, and what its lineage lacks is not known:
nothing is removed until a person confirms it, as with one that was restored from a backup.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from artifactctl import audit
from artifactctl.catalog import Catalog, Reading
from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostDenied, HostFailure, HostReadOnly
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.standing import problem_with, why_read_only
from artifactctl.report.json_values import dump

HEAD_TOPIC = "catalog"
_MOST_TRIES = 10
_MOST_EVENTS = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogHead:
    """The newest event of a catalog's audit chain at some time; `hash` "" and `event` 0 before the first."""

    catalog_id: str
    epoch: int
    event: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadOfCatalog:
    """A root that has seen events of this catalog which this catalog does not have; `why` is a sentence.

    `is_denied`: the account at hand may not look into the root's folder, so nobody knows; `remedy` says what to do.
    """

    root: Root
    why: str
    remedy: str = ""
    is_denied: bool = False


def head_of(reading: Reading) -> CatalogHead:
    """Return the catalog's own newest event."""
    identity = reading.identity()
    newest = next(iter(audit.newest(reading.connection, 1)), None)
    return CatalogHead(
        catalog_id=identity.lineage_id,
        epoch=identity.epoch,
        event=0 if newest is None else newest.event_id,
        hash="" if newest is None else newest.hash,
    )


def head_seen_by(host: Host, root: Root) -> CatalogHead | None:
    """Return the head that stands in the root, None when none was written; HostFailure when it cannot be read."""
    content = host.read_mirror(root.path, HEAD_TOPIC)
    if content is None:
        return None
    try:
        told = json.loads(content)
        head = CatalogHead(
            catalog_id=str(told["catalog_id"]),
            epoch=int(told["epoch"]),
            event=int(told["event"]),
            hash=str(told["hash"]),
        )
        if not 0 <= head.event < _MOST_EVENTS:
            raise ValueError(f"{head.event} is no number of an event")
        return head
    except (ValueError, KeyError, TypeError) as error:
        raise HostFailure(
            f"what the root `{root.name}` has seen of the catalog cannot be read ({error})",
            remedy="look at .artifactctl/catalog.json there; `artifactctl doctor --repair` writes it anew",
        ) from error


def roots_ahead(host: Host, reading: Reading) -> tuple[AheadOfCatalog, ...]:
    """Return the reachable roots of this machine that have seen more of this catalog than there is of it."""
    identity = reading.identity()
    ahead = []
    for root in roots_here(reading, host.identify()):
        try:
            marker = host.read_marker(root.path)
            if why_read_only(marker, catalog_id=identity.lineage_id, epoch=identity.epoch):
                continue  # not mounted, or not this catalog's: nothing goes there anyway
            seen = head_seen_by(host, root)
        except HostFailure as failure:
            denied = isinstance(failure, HostDenied)
            ahead.append(AheadOfCatalog(root=root, why=failure.message, remedy=failure.remedy, is_denied=denied))
            continue
        if seen is not None and not _has(reading, seen):
            why = f"the root `{root.name}` has seen event {seen.event} of it, which it does not have"
            ahead.append(AheadOfCatalog(root=root, why=why))
    return tuple(ahead)


def _has(reading: Reading, seen: CatalogHead) -> bool:
    """Whether the catalog's past holds what was seen; what another catalog or epoch wrote there proves nothing."""
    identity = reading.identity()
    if (seen.catalog_id, seen.epoch) != (identity.lineage_id, identity.epoch) or not seen.event:
        return True
    known = audit.event(reading.connection, seen.event)
    return known is not None and known.hash == seen.hash


def note_heads(catalog: Catalog, host: Host, roots: Iterable[Root] | None = None) -> tuple[str, ...]:
    """Write the catalog's head into its roots on this machine; returns what could not be written, in sentences.

    One that this catalog does not have is never overwritten: it is what tells that this is an older copy.
    """
    with catalog.reading() as reading:
        here = roots_here(reading, host.identify())
    problems = []
    for root in here if roots is None else [root for root in roots if root in here]:
        try:
            if root.is_marked and not problem_with(host, catalog, root):
                _note(catalog, host, root)
        except (HostDenied, HostReadOnly):
            continue  # somebody else's root, whose owner's commands write there; or nothing goes there either
        except HostFailure as failure:
            problems.append(f"an older copy of the catalog would not be noticed below {root.name}: {failure.message}")
    return tuple(problems)


def _note(catalog: Catalog, host: Host, root: Root) -> None:
    """Write until what stands there is the newest: another command may have written an earlier one meanwhile."""
    for _ in range(_MOST_TRIES):
        seen = head_seen_by(host, root)
        with catalog.reading() as reading:
            head = head_of(reading)
            may_write = seen is None or _has(reading, seen)
        if seen == head or not may_write:
            return
        write_head(host, root, head)


def write_head(host: Host, root: Root, head: CatalogHead) -> None:
    """Replace the head that stands in the root."""
    fields = {"catalog_id": head.catalog_id, "epoch": head.epoch, "event": head.event, "hash": head.hash}
    host.mirror(root.path, HEAD_TOPIC, dump("catalog-head", fields).encode("utf-8"))
