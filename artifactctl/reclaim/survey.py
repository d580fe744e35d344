"""Looking at targets through a machine, and holding what was seen against the catalog."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from artifactctl.catalog import Reading
from artifactctl.domain.artifacts import Replica, Root
from artifactctl.domain.contents import ContentLook
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.members import compare_members, member_digest
from artifactctl.domain.observation import MemberDrift, Observation, Referrer
from artifactctl.hosts.listings import members_in_order
from artifactctl.hosts.protocol import Host


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
    """Return the observation with its drift: none where the member digests agree, else the members compared.

    The drift stays None, which permits nothing, where the comparison saw other members than the observation: something
    could not be read, changed in between, or was set aside inside (a walk leaves that out).
    """
    if seen.tree is None:
        return seen
    found = Found(path=seen.path, is_directory=seen.is_directory, member_digest=seen.tree.member_digest)
    drift = _drift(host, reading, replica, found)
    return seen if drift is None else replace(seen, drift=drift)


def look_at_proof(host: Host, reading: Reading, replica: Replica) -> ContentLook | None:
    """Look at a replica that a decision rests on; None when it is not there whole, as the catalog has its members."""
    seen = host.contents(replica.root, target_of(replica))
    if not seen.is_there or seen.problems:
        return None
    found = Found(path=seen.path, is_directory=seen.is_directory, member_digest=seen.member_digest)
    drift = _drift(host, reading, replica, found)
    return seen if drift is not None and drift.is_none else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The members that a look saw, by their digest."""

    path: bytes
    is_directory: bool
    member_digest: str


def _drift(host: Host, reading: Reading, replica: Replica, seen: Found) -> MemberDrift | None:
    """Return how what was seen differs from the catalog; None when a second walk does not see the same again."""
    if replica.member_digest and seen.member_digest == replica.member_digest:
        return MemberDrift()
    try:
        found = tuple(members_in_order(host.walk(seen.path), is_directory=seen.is_directory))
    except HostFailure:
        return None
    if member_digest(found) != seen.member_digest:
        return None
    return compare_members(reading.members(replica.artifact_id), found)


def links_to(
    host: Host, roots: Sequence[Root], targets: Sequence[bytes]
) -> tuple[tuple[Referrer, ...], tuple[str, ...]]:
    """Search each of the machine's roots once for links that lead to one of the absolute `targets`."""
    return host.referrers([root.path for root in roots], list(targets))


def links_to_quarantined(
    host: Host, roots: Sequence[Root], seen: Observation, *, original: bytes
) -> tuple[tuple[Referrer, ...], tuple[str, ...]]:
    """Search for links that concern what was seen in quarantine: `not_referenced` says which and why.

    They lead into its folder there, or to its old path `original` with nothing there. One that leads to something at
    the old path means what stands there now.
    """
    folder = seen.path.rpartition(b"/")[0]
    links, problems = links_to(host, roots, [folder, original])
    return tuple(link for link in links if link.target == folder or link.is_dangling), problems


def with_links(
    seen: Observation, links: tuple[Referrer, ...], problems: tuple[str, ...], *, target: bytes
) -> Observation:
    """Return the observation with those of the found links that concern `target`."""
    below = target.rstrip(b"/") + b"/"
    mine = tuple(link for link in links if link.target == target or link.target.startswith(below))
    return replace(seen, referrers=mine, referrer_problems=problems)
