"""Looking at targets through a machine, and holding what was seen against the catalog."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Replica, Root
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.members import compare_members
from artifactctl.domain.observation import MemberDrift, Observation, Referrer
from artifactctl.hosts.protocol import EntryType, Host

_LETTERS = {EntryType.FILE: "f", EntryType.SYMLINK: "l", EntryType.OTHER: "o"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogStamp:
    """Which catalog asks: markers on disk name their catalog by lineage id and epoch."""

    lineage_id: str
    epoch: int


def target_of(replica: Replica) -> ManagedPath:
    """Return where the replica lies; ValueError for a catalog row that is not strictly below its root."""
    return ManagedPath(root=replica.root.path, relative=replica.relative)


def look(host: Host, reading: Reading, replica: Replica, *, stamp: CatalogStamp) -> Observation:
    """Observe a live replica and compare its members with the catalog (without referrers)."""
    seen = host.observe(replica.root, target_of(replica), catalog_id=stamp.lineage_id, catalog_epoch=stamp.epoch)
    return with_drift(host, reading, replica, seen)


def look_quarantined(host: Host, reading: Reading, replica: Replica, operation: str) -> Observation:
    """Observe what an operation set aside and compare its members with the catalog."""
    return with_drift(host, reading, replica, host.observe_quarantined(replica.root, operation))


def with_drift(host: Host, reading: Reading, replica: Replica, seen: Observation) -> Observation:
    """Return the observation with its drift: none where the member digests agree, else the members compared."""
    if seen.tree is None:
        return seen
    if replica.member_digest and seen.tree.member_digest == replica.member_digest:
        return replace(seen, drift=MemberDrift())
    found = members_on_disk(host, seen.path, is_directory=seen.is_directory)
    return replace(seen, drift=compare_members(reading.members(replica.artifact_id), found))


def members_on_disk(host: Host, path: bytes, *, is_directory: bool) -> Iterator[tuple[bytes, str, int]]:
    """Yield (relative path, type letter, size) of everything below `path` that is not a folder, in member order.

    A file as `path` is its own only member, with the relative path b"". Holds the whole tree in memory: only asked for
    where the digests disagree.
    """
    found: list[tuple[list[bytes], str, int]] = []
    for listing in host.walk(path):
        here = listing.relative.split(b"/") if listing.relative else []
        for entry in listing.entries:
            if entry.type is not EntryType.DIRECTORY:
                parts = [*here, entry.name] if is_directory else []
                found.append((parts, _LETTERS[entry.type], entry.size_bytes))
    for parts, letter, size in sorted(found):
        yield b"/".join(parts), letter, size


def links_to(
    host: Host, roots: Sequence[Root], targets: Sequence[bytes]
) -> tuple[tuple[Referrer, ...], tuple[str, ...]]:
    """Search every managed root once for links that lead to one of the absolute `targets`."""
    return host.referrers([root.path for root in roots], list(targets))


def with_links(
    seen: Observation, links: tuple[Referrer, ...], problems: tuple[str, ...], *, target: bytes
) -> Observation:
    """Return the observation with those of the found links that concern `target`."""
    below = target.rstrip(b"/") + b"/"
    mine = tuple(link for link in links if link.target == target or link.target.startswith(below))
    return replace(seen, referrers=mine, referrer_problems=problems)
