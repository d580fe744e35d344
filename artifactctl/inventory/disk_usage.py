"""What lies on disk below a path, told apart by the artifacts it belongs to. One walk, each inode once."""

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from artifactctl.catalog import Catalog, Reading
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host, Listing
from artifactctl.inventory.finding import roots_above
from artifactctl.inventory.machines import roots_here
from artifactctl.report.disk_usage import DiskUsage, Share, Uncatalogued

if TYPE_CHECKING:
    from artifactctl.hosts.ssh.coreutils import TreeSize

_AT_ITS_PATH = (ReplicaState.LIVE, ReplicaState.BUILDING, ReplicaState.ARCHIVING, ReplicaState.RESTORING)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPlace:
    """One path to measure and the root it is in."""

    root: Root
    path: bytes


def measured_places(reading: Reading, path: bytes | None, *, identity: HostIdentity) -> tuple[MeasuredPlace, ...]:
    """Return the roots of a machine, or the one path when it lies in a root; UnknownObject when it does not."""
    roots = roots_here(reading, identity)
    if path is None:
        return tuple(MeasuredPlace(root=root, path=root.path) for root in roots)
    exact = [MeasuredPlace(root=root, path=path) for root in roots if root.path == path]
    inside = [MeasuredPlace(root=root, path=path) for root, _ in roots_above(roots, path)]
    if not exact and not inside:
        raise UnknownObject(
            f"{display_path(path)} lies below no root", remedy="`artifactctl root add PATH` makes it or its folder one"
        )
    return ((exact or inside)[0],)


def measure(
    host: Host, catalog: Catalog, path: bytes | None, *, advance: Callable[[int], None]
) -> tuple[DiskUsage, ...]:
    """Return what lies below the roots of a machine, or below the one path; `advance` hears how many entries were seen.

    A machine without Python only tells how much it is, of any path; elsewhere UnknownObject for one that is in no root.
    """
    sized: Callable[[bytes], TreeSize] | None = getattr(host, "tree_size", None)
    if sized is not None and path is not None:
        return (_size_alone(host.identify(), path, sized(path)),)
    with catalog.reading() as reading:
        places = measured_places(reading, path, identity=host.identify())
        artifacts = reading.artifacts()
    if sized is not None:
        return tuple(_size_alone(host.identify(), place.path, sized(place.path)) for place in places)
    return tuple(measure_place(host, place, artifacts, advance=advance) for place in places)


def measure_place(
    host: Host, place: MeasuredPlace, artifacts: Iterable[Artifact], *, advance: Callable[[int], None]
) -> DiskUsage:
    """Return the bytes below the place by kind and state; `advance` is told how many entries were seen."""
    owners = _owners(place.root, artifacts)
    tally = _Tally(place, owners)
    for listing in host.walk(place.path):
        tally.count(listing)
        advance(len(listing.entries))
    return tally.usage(host.identify())


def _size_alone(machine: HostIdentity, path: bytes, size: "TreeSize") -> DiskUsage:
    return DiskUsage(
        host=machine.hostname,
        elsewhere=machine.elsewhere,
        path=path,
        shares=(),
        uncatalogued=(),
        uncatalogued_bytes=size.allocated_bytes,
        folder_bytes=0,
        problems=size.problems,
        undivided=f"{machine.hostname} has no Python 3.8 or newer: whose bytes these are is not told",
    )


def _owners(root: Root, artifacts: Iterable[Artifact]) -> dict[bytes, tuple[Artifact, Replica]]:
    return {
        posixpath.join(root.path, replica.relative): (artifact, replica)
        for artifact in artifacts
        for replica in artifact.replicas
        if replica.root.root_id == root.root_id and replica.state in _AT_ITS_PATH
    }


class _Tally:
    """The running account of one walk; the innermost artifact around an entry owns it."""

    def __init__(self, place: MeasuredPlace, owners: dict[bytes, tuple[Artifact, Replica]]) -> None:
        self._place = place
        self._owners = owners
        self._bytes: dict[tuple[str, str], int] = defaultdict(int)
        self._artifacts: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._uncatalogued: dict[bytes, int] = defaultdict(int)
        self._folder_bytes = 0
        self._linked: set[int] = set()
        self._problems: list[str] = []

    def count(self, listing: Listing) -> None:
        """Add one folder with what is directly in it."""
        folder = posixpath.join(self._place.path, listing.relative) if listing.relative else self._place.path
        if listing.problem:
            self._problems.append(listing.problem)
        around = self._owner(folder)
        if around is None:
            self._folder_bytes += listing.allocated_bytes
        else:
            self._add(folder, listing.allocated_bytes, around)
        for entry in listing.entries:
            if entry.type == "directory" or entry.inode in self._linked:
                continue
            if entry.links > 1:
                self._linked.add(entry.inode)
            path = posixpath.join(folder, entry.name)
            self._add(path, entry.allocated_bytes, self._owners.get(path, around))

    def usage(self, machine: HostIdentity) -> DiskUsage:
        """Return the account."""
        largest: Sequence[tuple[bytes, int]] = sorted(self._uncatalogued.items(), key=lambda item: (-item[1], item[0]))
        return DiskUsage(
            host=machine.hostname,
            elsewhere=machine.elsewhere,
            path=self._place.path,
            shares=tuple(
                Share(
                    root=self._place.root.name,
                    kind=kind,
                    state=state,
                    artifacts=len(self._artifacts[kind, state]),
                    allocated_bytes=size,
                )
                for (kind, state), size in sorted(self._bytes.items())
            ),
            uncatalogued=tuple(Uncatalogued(path=path, allocated_bytes=size) for path, size in largest if size),
            uncatalogued_bytes=sum(self._uncatalogued.values()),
            folder_bytes=self._folder_bytes,
            problems=tuple(self._problems),
        )

    def _add(self, path: bytes, size_bytes: int, owner: tuple[Artifact, Replica] | None) -> None:
        if owner is None:
            self._uncatalogued[self._top(path)] += size_bytes
            return
        artifact, replica = owner
        share = (artifact.kind.value, replica.state.value)
        self._bytes[share] += size_bytes
        self._artifacts[share].add(artifact.artifact_id)

    def _owner(self, path: bytes) -> tuple[Artifact, Replica] | None:
        """Return the innermost artifact at or above the path within the root."""
        while len(path) > len(self._place.root.path):
            found = self._owners.get(path)
            if found is not None:
                return found
            path = posixpath.dirname(path)
        return None

    def _top(self, path: bytes) -> bytes:
        """Return the part of the path directly below the place, which stands for what is under it."""
        below = path[len(self._place.path) :].lstrip(b"/")
        return posixpath.join(self._place.path, below.split(b"/")[0]) if below else self._place.path
