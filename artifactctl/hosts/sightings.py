"""What the probe reports, as domain types: the one place that knows both the wire form and the types."""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from artifactctl.domain.activity import GrowingFile, VolumeActivity, Writer
from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import UNKNOWN_SUBVOLUME, FileIdentity
from artifactctl.domain.observation import (
    Confinement,
    Limit,
    MarkerState,
    MountSighting,
    Observation,
    Obstacle,
    ObstacleKind,
    SharedExtents,
    TreeSummary,
    VolumeUsage,
)
from artifactctl.domain.sharing import SharedInode
from artifactctl.hosts import use_sightings
from artifactctl.hosts.protocol import Entry, EntryType, Listing

Wire = Mapping[str, Any]

_ENTRY_TYPES = {"f": EntryType.FILE, "d": EntryType.DIRECTORY, "l": EntryType.SYMLINK, "o": EntryType.OTHER}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def instant(nanoseconds: int) -> datetime:
    """Return nanoseconds since 1970 as an instant; what no calendar can hold becomes its first or last day.

    A forged time such as the year 30,000 must block as "changed in the future", not stop the look.
    """
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return _LATEST if nanoseconds > 0 else _EARLIEST


def file_identity(wire: Wire) -> FileIdentity:
    """Return the identity of one inode."""
    return FileIdentity(
        filesystem_uuid=wire["filesystem_uuid"],
        inode=wire["inode"],
        birth_ns=wire["birth_ns"],
        ctime_ns=wire["ctime_ns"],
        subvolume=wire["subvolume"],
    )


def volume_usage(wire: Wire) -> VolumeUsage:
    """Return the space of a filesystem."""
    plain = {name: value for name, value in wire.items() if name not in ("mount", "limits")}
    limits = tuple(
        Limit(
            name=item["name"],
            available_bytes=item["available_bytes"],
            available_inodes=item["available_inodes"],
            detail=item["detail"],
        )
        for item in wire["limits"]
    )
    return VolumeUsage(mount=os.fsencode(wire["mount"]), limits=limits, **plain)


def listings(parts: Iterable[Wire]) -> Iterator[Listing]:
    """Put the parts of each folder together again."""
    entries: list[Entry] = []
    for part in parts:
        entries.extend(map(_entry, part["entries"]))
        if not part["final"]:
            continue
        yield Listing(
            relative=os.fsencode(part["relative"]),
            entries=tuple(entries),
            allocated_bytes=part["allocated_bytes"],
            inode=part["inode"],
            problem=part["problem"],
            is_mount=part["is_mount"],
        )
        entries = []


def _entry(row: list[Any]) -> Entry:
    name, letter, size, allocated, inode, links, modified_ns, changed_ns, target, read_ns = row
    return Entry(
        os.fsencode(name),
        _ENTRY_TYPES[letter],
        size,
        allocated,
        inode,
        links,
        modified_ns,
        changed_ns,
        os.fsencode(target) if target else b"",
        read_ns,
    )


def tree_summary(wire: Wire) -> TreeSummary:
    """Return the measured content of a target."""
    return TreeSummary(
        files=wire["files"],
        directories=wire["directories"],
        symlinks=wire["symlinks"],
        apparent_bytes=wire["apparent_bytes"],
        allocated_bytes=wire["allocated_bytes"],
        exclusive_bytes=wire["exclusive_bytes"],
        fingerprint=wire["fingerprint"],
        member_digest=wire["member_digest"],
        changed_at=instant(wire["changed_ns"]),
        changed_path=os.fsencode(wire["changed_path"]),
        written_at=instant(wire["written_ns"]),
        placed_at=instant(wire["placed_ns"]),
        read_at=None if wire["read_ns"] is None else instant(wire["read_ns"]),
        read_path=os.fsencode(wire["read_path"]),
        escaping_links=tuple((os.fsencode(link), os.fsencode(text)) for link, text in wire["escaping_links"]),
        special_files=tuple((os.fsencode(path), kind) for path, kind in wire["special_files"]),
        outside_names=tuple((os.fsencode(path), count) for path, count in wire["outside_names"]),
        shared_extents=SharedExtents(wire["shared_extents"]),
        problems=tuple(wire["problems"]),
        shared_inodes=tuple(
            SharedInode(inode=inode, birth_ns=birth_ns, names_inside=inside, links=links, allocated_bytes=allocated)
            for inode, birth_ns, inside, links, allocated in wire["shared_inodes"]
        ),
    )


def marker_state(wire: Wire, root: Root, catalog_id: str, catalog_epoch: int) -> tuple[MarkerState, str]:
    """Return what the root's marker says about `root` and the catalog that asks, with the reason in words."""
    marker, problem = wire["marker"], wire["marker_problem"]
    if problem:
        return MarkerState.UNREADABLE, problem
    if marker is None:
        return MarkerState.MISSING, "there is no .artifactctl/root.json"
    wanted = {"root_id": str, "catalog_id": str, "catalog_epoch": int, "filesystem_uuid": str, "inode": int}
    wrong = sorted(name for name, kind in wanted.items() if not isinstance(marker.get(name), kind))
    if wrong:
        return MarkerState.UNREADABLE, f"root.json has no usable {', '.join(wrong)}"
    if marker["root_id"] != root.root_id:
        return MarkerState.FOREIGN, f"the marker is that of root {marker['root_id']}"
    if marker["catalog_id"] != catalog_id:
        return MarkerState.FOREIGN, f"the root belongs to catalog {marker['catalog_id']}"
    if marker["catalog_epoch"] != catalog_epoch:
        return MarkerState.FOREIGN, f"the root is at epoch {marker['catalog_epoch']}, the catalog at {catalog_epoch}"
    here = (wire["confinement"]["filesystem_uuid"], wire["root_inode"])
    if here != (marker["filesystem_uuid"], marker["inode"]):
        return MarkerState.CLONED, f"the marker was written for inode {marker['inode']} of {marker['filesystem_uuid']}"
    subvolume = wire["root_subvolume"]
    if subvolume == UNKNOWN_SUBVOLUME or (subvolume and not marker.get("subvolume")):
        return MarkerState.UNREADABLE, "which subvolume it is in is not known: it could be a snapshot of the root"
    if subvolume != marker.get("subvolume", ""):
        return MarkerState.CLONED, "the marker was written in another subvolume: this is a snapshot or copy of the root"
    return MarkerState.MATCHES, ""


def confinement(wire: Wire, state: tuple[MarkerState, str]) -> Confinement:
    """Return where the target really lies."""
    place = wire["confinement"]
    component = place["symlinked_component"]
    return Confinement(
        marker=state[0],
        marker_detail=state[1],
        filesystem_uuid=place["filesystem_uuid"],
        filesystem_type=place["filesystem_type"],
        symlinked_component=None if component is None else os.fsencode(component),
        mounts=tuple(
            MountSighting(
                relative=os.fsencode(mount["relative"]),
                source=mount["source"],
                filesystem_type=mount["filesystem_type"],
            )
            for mount in place["mounts"]
        ),
        mounts_complete=place["mounts_complete"],
        other_roots=tuple(os.fsencode(folder) for folder in place["other_roots"]),
    )


def observation(wire: Wire, root: Root, *, catalog_id: str, catalog_epoch: int) -> Observation:
    """Return the observation of a target of `root`; the machine's clock is its instant."""
    seen_at = instant(wire["host_ns"])
    tree = None if wire["tree"] is None else tree_summary(wire["tree"])
    return Observation(
        taken_at=seen_at,
        host_time=seen_at,
        path=os.fsencode(wire["path"]),
        identity=None if wire["identity"] is None else file_identity(wire["identity"]),
        is_directory=wire["is_directory"],
        confinement=confinement(wire, marker_state(wire, root, catalog_id, catalog_epoch)),
        tree=tree,
        holders=use_sightings.holder_report(wire["holders"]),
        obstacles=tuple(
            Obstacle(kind=ObstacleKind(item["kind"]), path=os.fsencode(item["path"]), detail=item["detail"])
            for item in wire["obstacles"]
        ),
        problems=(*wire["problems"], *(tree.problems if tree else ())),
    )


def volume_activity(wire: Wire) -> VolumeActivity:
    """Return who wrote to a volume during a sample."""
    return VolumeActivity(
        seconds=wire["seconds"],
        available_before_bytes=wire["available_before_bytes"],
        available_after_bytes=wire["available_after_bytes"],
        processes_denied=wire["processes_denied"],
        writers=tuple(
            Writer(
                pid=item["pid"],
                command=item["command"],
                written_bytes=item["written_bytes"],
                writes_here=item["writes_here"],
                files=tuple(
                    GrowingFile(
                        path=os.fsencode(file["path"]),
                        size_bytes=file["size_bytes"],
                        grown_bytes=file["grown_bytes"],
                        was_open_before=file["was_open_before"],
                    )
                    for file in item["files"]
                ),
            )
            for item in wire["writers"]
        ),
    )
