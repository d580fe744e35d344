"""Observations of one target: its tree, its users, what would wedge its removal, and where it really lies."""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from artifactctl.domain.contents import ContentLook
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.observation import (
    BlindSpot,
    Holder,
    HolderKind,
    HolderReport,
    MountSighting,
    Obstacle,
    ObstacleKind,
    Referrer,
    SharedExtents,
    TreeSummary,
)
from artifactctl.domain.sharing import SharedInode
from artifactctl.hosts.protocol import EntryType
from tests.fakes.clock import as_instant
from tests.fakes.digests import Member, digest_of, fingerprint
from tests.fakes.disk import Disk, Spot
from tests.fakes.processes import PlantedHolder, ProcessTable, reported
from tests.fakes.walking import members_of, walk

LOCAL_TYPES = frozenset({"ext4", "xfs", "btrfs", "tmpfs"})
NO_HOLDERS = HolderReport(
    holders=(),
    blind_spots=(),
    processes_inspected=0,
    lease_candidates=0,
    leases_granted=0,
    lease_answers_for_all_openers=True,
)


@dataclass(slots=True)
class Looker:
    """The eyes of the machine. `blind_spots` is what a test says it cannot see.

    `known_as` is the path that a quarantined target had: links inside of it may still name it so.
    """

    disk: Disk
    processes: ProcessTable
    blind_spots: list[BlindSpot]
    known_as: bytes | None = None
    excused: Mapping[int, int] = field(default_factory=dict)

    def knowing(self, original: bytes, excused: Mapping[int, int]) -> "Looker":
        """Return the same eyes for something that stood at `original`, blind to the ctimes that are our own doing."""
        return replace(self, known_as=original, excused=excused)

    def holders(self, path: bytes) -> HolderReport:
        """Return who uses what stands at `path` or below."""
        return self._uses(path, _Question(lambda holder: True, self.processes.refuses_lease, "a write lease"))

    def writers(self, path: bytes) -> HolderReport:
        """Return who could be changing what stands at `path` or below."""
        return self._uses(
            path, _Question(lambda holder: holder.writes, self.processes.refuses_read_lease, "a read lease")
        )

    def _uses(self, path: bytes, question: "_Question") -> HolderReport:
        top = self.disk.look(path)
        if top is None:
            return NO_HOLDERS
        members = _with_top(top, members_of(self.disk, path))
        files = {spot: relative for relative, spot in members if spot.inode.type is EntryType.FILE}
        refused = [spot for spot in files if question.refuses(spot)]
        volume = top.mount.volume
        granted = len(files) - len(refused) if volume.grants_leases else 0
        named = [
            reported(holder, relative)
            for relative, spot in members
            for holder in self.processes.of(spot)
            if holder.visible and question.counts(holder)
        ]
        explained = {holder.path for holder in named}
        unnamed = [
            Holder(kind=HolderKind.KERNEL_LEASE, path=files[spot], detail=f"the kernel refused {question.lease}")
            for spot in refused
            if volume.grants_leases and files[spot] not in explained
        ]
        return HolderReport(
            holders=(*named, *unnamed),
            blind_spots=tuple(self.blind_spots),
            processes_inspected=len({holder.pid for holder in self.processes.planted if holder.visible}) + 1,
            lease_candidates=len(files),
            leases_granted=granted,
            lease_answers_for_all_openers=volume.type in LOCAL_TYPES and not volume.is_exported,
        )

    def contents(self, target: ManagedPath) -> ContentLook:
        """Return what stands at the target and who could be changing it."""
        path = target.absolute
        spot = self.disk.look(path)
        tree = self.tree(path) if spot is not None else None
        return ContentLook(
            path=path,
            is_there=spot is not None,
            is_directory=spot is not None and spot.inode.type is EntryType.DIRECTORY,
            fingerprint=tree.fingerprint if tree is not None else "",
            member_digest=tree.member_digest if tree is not None else "",
            writers=self.writers(path),
            problems=tree.problems if tree is not None else (),
        )

    def tree(self, path: bytes) -> TreeSummary:
        """Return the measured content of what stands at `path`."""
        top = self.disk.find(path)
        members = list(members_of(self.disk, path))
        everything = _with_top(top, members)
        inside = Counter(spot for _, spot in everything)
        outside = tuple(
            (relative, spot.inode.links - inside[spot])
            for relative, spot in _first_names(members)
            if spot.inode.type is not EntryType.DIRECTORY and spot.inode.links > inside[spot]
        )
        by_name = dict(members)
        shared_out = {by_name[relative]: None for relative, _ in outside}
        changed_ns, changed_path = max(_change_times(top, everything, self.excused))
        read_ns, read_path = max(
            ((s.inode.read_ns, r) for r, s in members if s.inode.type is EntryType.FILE), default=(0, b"")
        )
        kinds = Counter(spot.inode.type for _, spot in members)
        return TreeSummary(
            files=kinds[EntryType.FILE],
            directories=kinds[EntryType.DIRECTORY] + (top.inode.type is EntryType.DIRECTORY),
            symlinks=kinds[EntryType.SYMLINK],
            apparent_bytes=sum(s.inode.size_bytes for _, s in members if s.inode.type is not EntryType.DIRECTORY),
            allocated_bytes=sum(spot.inode.allocated_bytes for spot in inside),
            exclusive_bytes=sum(spot.inode.allocated_bytes for spot in inside if spot not in shared_out),
            fingerprint=fingerprint(top, members, self.excused),
            member_digest=digest_of(members),
            changed_at=as_instant(changed_ns),
            changed_path=changed_path,
            placed_at=as_instant(self._placed_ns(path)),
            written_at=as_instant(max(spot.inode.modified_ns for _, spot in everything)),
            read_at=as_instant(read_ns) if read_ns else None,
            read_path=read_path,
            escaping_links=tuple(self._escaping(path, members)),
            special_files=tuple((r, s.inode.special) for r, s in members if s.inode.type is EntryType.OTHER),
            outside_names=outside,
            shared_extents=SharedExtents.SOME if any(s.inode.shared_extents for s in inside) else SharedExtents.NONE,
            problems=tuple(f"{entry.relative!r}: {entry.problem}" for entry in walk(self.disk, path) if entry.problem),
            shared_inodes=tuple(
                SharedInode(
                    inode=spot.number,
                    birth_ns=spot.inode.birth_ns,
                    names_inside=inside[spot],
                    links=spot.inode.links,
                    allocated_bytes=spot.inode.allocated_bytes,
                )
                for spot in shared_out
            ),
        )

    def _placed_ns(self, path: bytes) -> int:
        """Return the newest ctime of the top and the folders above it that lie below some root."""
        times = [self.disk.find(path).inode.changed_ns]
        above = posixpath.dirname(path)
        while above != b"/" and self.disk.look(above + b"/.artifactctl") is None:
            times.append(self.disk.find(above).inode.changed_ns)
            above = posixpath.dirname(above)
        return max(times)

    def _escaping(self, path: bytes, members: Iterable[Member]) -> Iterable[tuple[bytes, bytes]]:
        for relative, spot in members:
            if spot.inode.type is EntryType.SYMLINK:
                link = posixpath.join(path, relative) if relative else path
                lexical = _lexical(link, spot.inode.link_target) + b"/"
                inside = lexical.startswith(path + b"/")
                if not inside and not (self.known_as and lexical.startswith(self.known_as + b"/")):
                    yield relative, spot.inode.link_target

    def obstacles(self, path: bytes) -> tuple[Obstacle, ...]:
        """Return every entry that the user could not remove."""
        top = self.disk.find(path)
        found = []
        if top.mount.read_only:
            found.append(Obstacle(kind=ObstacleKind.READ_ONLY, path=b""))
        folder, _ = self.disk.parent(path)
        everything = [(None, folder), *_with_top(top, members_of(self.disk, path))]
        spots = {relative: spot for relative, spot in everything if relative is not None}
        for relative, spot in everything:
            inode = spot.inode
            shown = relative or b""
            if relative is not None and inode.immutable:
                found.append(Obstacle(kind=ObstacleKind.IMMUTABLE, path=shown))
            if relative is not None and inode.append_only:
                found.append(Obstacle(kind=ObstacleKind.APPEND_ONLY, path=shown))
            if inode.type is EntryType.DIRECTORY and not inode.writable_by(self.disk.user):
                found.append(Obstacle(kind=ObstacleKind.PERMISSION, path=shown))
            if relative is not None and self._is_stuck(spot, spots.get(posixpath.dirname(relative), folder)):
                found.append(Obstacle(kind=ObstacleKind.STICKY, path=shown))
        return tuple(found)

    def _is_stuck(self, spot: Spot, folder: Spot) -> bool:
        return folder.inode.sticky and self.disk.user not in (0, folder.inode.owner, spot.inode.owner)

    def mounts_below(self, path: bytes) -> tuple[MountSighting, ...]:
        """Return the mounts at or below the path."""
        found = []
        for mount in self.disk.mounts[1:]:
            if (mount.path + b"/").startswith(path + b"/"):
                relative = mount.path[len(path) :].lstrip(b"/")
                found.append(MountSighting(relative=relative, source=mount.source, filesystem_type=mount.volume.type))
        return tuple(found)

    def referrers(
        self, roots: Iterable[bytes], targets: Iterable[bytes]
    ) -> tuple[tuple[Referrer, ...], tuple[str, ...]]:
        """Return the links from outside that lead to or below a target, and the folders that could not be read."""
        wanted = tuple(targets)
        found: list[Referrer] = []
        problems: list[str] = []
        tops = dict.fromkeys(roots)
        for root in tuple(tops):
            tops.update(dict.fromkeys(m.path for m in self.disk.mounts if m.path.startswith(root.rstrip(b"/") + b"/")))
        for root in tops:
            for listing in walk(self.disk, root):
                folder = posixpath.join(root, listing.relative) if listing.relative else root
                if listing.problem:
                    problems.append(f"{folder!r}: {listing.problem}")
                for entry in listing.entries:
                    if entry.type is EntryType.SYMLINK:
                        link = posixpath.join(folder, entry.name)
                        gone = not self.disk.leads_somewhere(link)
                        mine = [target for target in wanted if self._leads(link, target)]
                        found += [Referrer(link=link, target=target, is_dangling=gone) for target in mine]
        return tuple(found), tuple(problems)

    def _leads(self, link: bytes, target: bytes) -> bool:
        """Whether following the link passes through the target, from outside of it."""
        if (link + b"/").startswith(target + b"/"):
            return False
        for _ in range(40):
            spot = self.disk.look(link)
            if spot is None or spot.inode.type is not EntryType.SYMLINK:
                return False
            link = _lexical(link, spot.inode.link_target)
            if (link + b"/").startswith(target + b"/"):
                return True
            middle = self.disk.first_link(link)
            if middle is not None and middle != link:
                step = self.disk.find(middle).inode.link_target
                link = _lexical(middle, step) + link[len(middle) :]
                if (link + b"/").startswith(target + b"/"):
                    return True
        return False


@dataclass(frozen=True, slots=True)
class _Question:
    """Which uses count, and which files the kernel refuses the lease for that would rule them out."""

    counts: Callable[[PlantedHolder], bool]
    refuses: Callable[[Spot], bool]
    lease: str


def _lexical(link: bytes, target: bytes) -> bytes:
    return posixpath.normpath(posixpath.join(posixpath.dirname(link), target))


def _with_top(top: Spot, members: Iterable[Member]) -> list[Member]:
    """Return the members and, when it is a folder, the top itself as b""."""
    listed = list(members)
    return listed if top.inode.type is not EntryType.DIRECTORY else [(b"", top), *listed]


def _first_names(members: Iterable[Member]) -> Iterable[Member]:
    seen = set()
    for relative, spot in members:
        if spot not in seen:
            seen.add(spot)
            yield relative, spot


def _change_times(top: Spot, everything: Iterable[Member], excused: Mapping[int, int]) -> Iterable[tuple[int, bytes]]:
    """Yield the newest of mtime and ctime of each member, and the mtime of a top folder: a rename sets its ctime."""
    for relative, spot in everything:
        inode = spot.inode
        changed_ns = excused.get(inode.number, inode.changed_ns)
        left_out = spot == top and inode.type is not EntryType.FILE
        yield inode.modified_ns if left_out else max(inode.modified_ns, changed_ns), relative
