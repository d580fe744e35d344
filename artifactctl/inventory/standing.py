"""Whether this catalog is in charge of a root: a marker names its catalog, by lineage id and epoch.

Another catalog, or another epoch of the same one (a backup that took its place, or what it replaced), is read-only on
the root until a person confirms it: `artifactctl doctor --repair`.
"""

from artifactctl.catalog import Catalog
from artifactctl.domain.artifacts import Root
from artifactctl.domain.errors import HostFailure, Refused
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host, Marker


class NotInCharge(Refused):
    """The root belongs to another catalog, or to another epoch of this one."""


def why_read_only(marker: Marker | None, *, catalog_id: str, epoch: int) -> str:
    """Return why a catalog may not write below a root with this marker, "" when it may."""
    if marker is None:
        return "it has no marker"
    if marker.catalog_id != catalog_id:
        return "its marker names another catalog"
    if marker.catalog_epoch < epoch:
        return (
            f"this catalog took the place of another one (epoch {epoch}) and nobody has confirmed it for the root, "
            f"which is at epoch {marker.catalog_epoch}"
        )
    if marker.catalog_epoch > epoch:
        return f"epoch {marker.catalog_epoch} of this catalog is in charge of it, and this is epoch {epoch}"
    return ""


def remedy_for(marker: Marker | None, root: Root) -> str:
    """Return what to type where a root's marker does not let the catalog act."""
    if marker is None:
        shown = display_path(root.path)
        return f"mount its volume; if its .artifactctl folder was removed, `artifactctl root add {shown}` makes it anew"
    return "`artifactctl doctor` explains it; `artifactctl doctor --repair` confirms a restored catalog"


def problem_with(host: Host, catalog: Catalog, root: Root) -> str:
    """Return why the catalog may not write below the root as it is now, "" when it may."""
    try:
        marker, found = host.read_marker(root.path), host.identity(root.path)
    except HostFailure as failure:
        return failure.message
    if marker is not None and (found is None or not marker.lies_at(found)):
        return (
            f"{display_path(root.path)} is not provably the folder that was marked: a copy or a snapshot of it, perhaps"
        )
    return why_read_only(marker, catalog_id=catalog.lineage_id, epoch=catalog.look_up_epoch())


def require_in_charge(host: Host, catalog: Catalog, root: Root) -> None:
    """Raise NotInCharge unless the catalog may write below the root."""
    problem = problem_with(host, catalog, root)
    if problem:
        raise NotInCharge(
            f"nothing is changed below the root `{root.name}`: {problem}",
            remedy=remedy_for(host.read_marker(root.path), root),
        )
