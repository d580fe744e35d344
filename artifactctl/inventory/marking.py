"""The marker of a root as this catalog writes it, and whether one that is there is its own and the original."""

from dataclasses import replace

from artifactctl import audit
from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Root
from artifactctl.domain.audit import AuditAction
from artifactctl.domain.identity import UNKNOWN_SUBVOLUME, FileIdentity
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host, Marker
from artifactctl.inventory.failures import RootTaken, UnfitRoot

_SUBVOLUME = "subvolume"


def marker_for(catalog: Catalog, root_id: str, name: str, found: FileIdentity) -> Marker:
    """Return the marker of a root of this catalog at the folder that was found."""
    return Marker(
        root_id=root_id,
        name=name,
        catalog_id=catalog.lineage_id,
        catalog_epoch=catalog.epoch,
        filesystem_uuid=found.filesystem_uuid,
        inode=found.inode,
        subvolume=found.subvolume,
    )


def own_marker(host: Host, catalog: Catalog, absolute: bytes, found: FileIdentity) -> Marker | None:
    """Return the marker that this catalog left here before; RootTaken when another's is there.

    Where nobody knows for which subvolume it was written, the person who adds the folder says that it is this one.
    """
    if found.subvolume == UNKNOWN_SUBVOLUME:
        raise UnfitRoot(
            f"the kernel does not tell which btrfs subvolume {display_path(absolute)} lies in",
            remedy="use a kernel from Linux 4.18 on, outside of a sandbox that forbids BTRFS_IOC_GET_SUBVOL_INFO",
        )
    marker = host.read_marker(absolute)
    if marker is None:
        return None
    if marker.catalog_id != catalog.lineage_id:
        raise RootTaken(
            f"{display_path(absolute)} is managed as {marker.name} by another catalog ({marker.catalog_id})",
            remedy="use that catalog with --catalog; a folder has one catalog",
        )
    stated = marker if marker.subvolume else replace(marker, subvolume=found.subvolume)
    if not stated.lies_at(found):
        raise RootTaken(
            f"{display_path(absolute)} is a copy of the root {marker.name}: its marker was made on another folder",
            remedy="remove .artifactctl from the copy if its content is not managed elsewhere",
        )
    return stated


def known_again(
    host: Host, catalog: Catalog, known: Root, marker: Marker | None, found: FileIdentity, *, may_write: bool
) -> Root:
    """Return the root that the folder is already, with its private folder made whole where something was removed."""
    before = _added_in(catalog, known)
    if (known.filesystem_uuid, known.inode) != (found.filesystem_uuid, found.inode) or (
        marker is None and before not in ("", found.subvolume)
    ):
        raise RootTaken(
            f"{display_path(known.path)} was added as {known.name}, and is another filesystem or folder now",
            remedy=f"mount what was there, or `artifactctl root forget {known.name}` first",
        )
    if may_write:
        host.write_marker(known.path, marker or marker_for(catalog, known.root_id, known.name, found))
    return known


def subvolume_evidence(found: FileIdentity) -> dict[str, str]:
    """Return what the audit log keeps of where a root was added: the catalog itself has no column for it."""
    return {_SUBVOLUME: found.subvolume} if found.subvolume else {}


def _added_in(catalog: Catalog, root: Root) -> str:
    """Return the subvolume in which the root was added, "" when the audit log does not tell of one."""
    with catalog.reading() as reading:
        told = [
            event.entry.evidence
            for event in audit.events(reading.connection, action=AuditAction.ROOT_ADD, path=root.path)
        ]
    mine = [item for item in told if isinstance(item, dict) and item.get("root_id") == root.root_id]
    return str(mine[-1].get(_SUBVOLUME, "")) if mine else ""
