"""One observation of one target, put together, and the state of the root's marker."""

from datetime import datetime

from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.observation import Confinement, MarkerState, Observation
from artifactctl.hosts.protocol import EntryType
from tests.fakes.ledger import Ledger
from tests.fakes.looking import Looker

Ours = tuple[str, int] | None
"""The catalog id and epoch that the marker should name; None when nobody asks for a catalog."""


def observe(looker: Looker, now: datetime, root: Root, path: bytes, ours: Ours, ledger: Ledger) -> Observation:
    """Return everything about what stands at `path`."""
    spot = looker.disk.look(path)
    return Observation(
        taken_at=now,
        host_time=now,
        path=path,
        identity=spot.identity if spot else None,
        is_directory=spot is not None and spot.inode.type is EntryType.DIRECTORY,
        confinement=_confinement(looker, root, path, ours, ledger),
        tree=looker.tree(path) if spot else None,
        holders=looker.holders(path),
        obstacles=looker.obstacles(path) if spot else (),
    )


def _confinement(looker: Looker, root: Root, path: bytes, ours: Ours, ledger: Ledger) -> Confinement:
    disk = looker.disk
    state, detail = _marker_state(looker, root, ours, ledger)
    spot = disk.look(path) or disk.find(root.path, follow_last=True)
    return Confinement(
        marker=state,
        marker_detail=detail,
        filesystem_uuid=spot.mount.volume.uuid,
        filesystem_type=spot.mount.volume.type,
        symlinked_component=disk.first_link(path),
        mounts=looker.mounts_below(path),
        mounts_complete=True,
    )


def _marker_state(looker: Looker, root: Root, ours: Ours, ledger: Ledger) -> tuple[MarkerState, str]:
    try:
        marker = ledger.marker()
    except HostFailure as error:
        return MarkerState.UNREADABLE, error.message
    if marker is None:
        return MarkerState.MISSING, "no marker"
    top = looker.disk.find(root.path)
    if marker.root_id != root.root_id:
        return MarkerState.FOREIGN, f"the marker names root {marker.root_id}"
    if (marker.filesystem_uuid, marker.inode) != (top.mount.volume.uuid, top.number):
        return MarkerState.CLONED, "the marker was written in another folder"
    if ours is not None and (marker.catalog_id, marker.catalog_epoch) != ours:
        return MarkerState.FOREIGN, f"catalog {marker.catalog_id}, epoch {marker.catalog_epoch}"
    return MarkerState.MATCHES, ""
