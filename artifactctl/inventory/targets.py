"""From a person's word to a place below a managed root."""

from collections.abc import Sequence
from dataclasses import dataclass

from artifactctl.catalog import Catalog, Reading
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Root
from artifactctl.domain.identity import ManagedPath
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host, Listing
from artifactctl.inventory.failures import NotTheRecordedVolume, OutsideRoots, UnfitRoot
from artifactctl.inventory.machines import roots_here


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A managed root, or something below it; `relative` b"" is the root itself."""

    root: Root
    relative: bytes

    @property
    def absolute(self) -> bytes:
        """The full path on its machine."""
        return self.root.path + b"/" + self.relative if self.relative else self.root.path

    def covers(self, relative: bytes) -> bool:
        """Whether a path below the root is at or below the target."""
        return not self.relative or relative == self.relative or relative.startswith(self.relative + b"/")


def local_roots(host: Host, reading: Reading) -> tuple[Root, ...]:
    """Return the roots on this machine."""
    return roots_here(reading, host.identify())


def targets_of(host: Host, catalog: Catalog, words: Sequence[bytes]) -> tuple[Target, ...]:
    """Return what root names and paths mean; no words mean every root of this machine."""
    with catalog.reading() as reading:
        roots = local_roots(host, reading)
    if not words:
        if not roots:
            raise UnknownObject("there is no managed root yet", remedy="artifactctl root add PATH")
        return tuple(Target(root=root, relative=b"") for root in roots)
    return tuple(dict.fromkeys(_target(host, roots, word) for word in words))


def _target(host: Host, roots: tuple[Root, ...], word: bytes) -> Target:
    for root in roots:
        if word == root.name.encode("utf-8", "surrogateescape"):
            return Target(root=root, relative=b"")
    if not word:
        raise UnknownObject("an empty word names nothing", remedy="artifactctl root ls")
    return target_at(host, roots, word)


def target_at(host: Host, roots: tuple[Root, ...], path: bytes, *, may_be_link: bool = False) -> Target:
    """Return the place of a path, which must lie in one of the roots and not be reached through a link.

    `may_be_link`: what is meant is the place, and what stands there, a link or not, is looked at by the caller.
    """
    absolute, link = host.resolve(path)
    for root in roots:
        if absolute == root.path:
            return Target(root=root, relative=b"")
        if absolute.startswith(root.path.rstrip(b"/") + b"/"):
            if link is not None and not (may_be_link and link == absolute):
                raise UnfitRoot(
                    f"{display_path(path)} is reached through the link {display_path(link)}",
                    remedy="give the path without links",
                )
            return Target(root=root, relative=_below(root, absolute))
    raise OutsideRoots(
        f"{display_path(absolute)} lies below no managed root",
        remedy=f"artifactctl root add {display_path(_new_root(absolute, roots))}",
    )


def _below(root: Root, absolute: bytes) -> bytes:
    try:
        return ManagedPath.within(root.path, absolute).relative
    except ValueError as error:
        raise UnfitRoot(
            f"{display_path(absolute)} lies in the folder that artifactctl keeps for itself",
            remedy="`artifactctl quarantine ls` shows what is set aside there",
        ) from error


def is_file(top: Listing) -> bool:
    """Whether the first listing of a walk is that of a single file: its only entry is the listed thing itself."""
    return len(top.entries) == 1 and top.entries[0].inode == top.inode


def _new_root(path: bytes, roots: tuple[Root, ...]) -> bytes:
    """Return the folder around the path, or the path itself where that folder would overlap a root."""
    parent = _parent(path)
    inside = parent.rstrip(b"/") + b"/"
    if parent == b"/" or any(root.path.startswith(inside) for root in roots):
        return path
    return parent


def _parent(path: bytes) -> bytes:
    return path.rpartition(b"/")[0] or b"/"


def require_recorded_volume(host: Host, root: Root, *, catalog_id: str) -> None:
    """Refuse unless the root's marker is there, ours, and on the filesystem and inode on which it was added.

    A root without a marker of ours (`Root.is_marked`) is known by filesystem and inode alone. A volume that is not
    mounted leaves an empty folder behind; nothing may conclude from that that things are gone.
    """
    remedy = (
        f"mount the volume, or look with `artifactctl doctor`, then run the command again ({display_path(root.path)})"
    )
    marker = host.read_marker(root.path) if root.is_marked else None
    if marker is None and root.is_marked:
        raise NotTheRecordedVolume(f"the root {root.name} has no marker: is its volume mounted?", remedy=remedy)
    if marker is not None and (marker.root_id, marker.catalog_id) != (root.root_id, catalog_id):
        raise NotTheRecordedVolume(f"the marker of {root.name} is another root's or another catalog's", remedy=remedy)
    found = host.usage(root.path).filesystem_uuid
    if found != root.filesystem_uuid:
        raise NotTheRecordedVolume(
            f"the root {root.name} is on filesystem {found}, not on {root.filesystem_uuid}", remedy=remedy
        )
    identity = host.identity(root.path)
    if identity is None or identity.inode != root.inode:
        raise NotTheRecordedVolume(f"the root {root.name} is not the folder that was added", remedy=remedy)
    if marker is not None and not marker.lies_at(identity):
        raise NotTheRecordedVolume(
            f"the root {root.name} is not provably the folder that was added: a copy or a snapshot of it, perhaps",
            remedy=remedy,
        )
