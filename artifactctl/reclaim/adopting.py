"""Reclaiming a path that nobody registered: tried out on a copy of the catalog, made real only after the confirmation.

A dry run writes nothing: root, artifact and members are registered in a copy (or a catalog that exists for as long as
the command runs), and the machine is asked as if the markers of new roots were there already. When the person agrees,
root and artifact are registered for good and the plan is made again.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from artifactctl.catalog import Catalog, create_or_upgrade, open_trial
from artifactctl.catalog.copying import copy_catalog
from artifactctl.domain.artifacts import Artifact, Replica, ReplicaState, Root
from artifactctl.domain.attestation import READ_ONLY
from artifactctl.domain.errors import Refused, UsageError
from artifactctl.domain.identity import MARKER_DIRECTORY, QUARANTINE_BESIDE, ManagedPath
from artifactctl.domain.observation import MarkerState, Observation
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host, Marker, Placement
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.failures import UnfitRoot, UnfitTarget
from artifactctl.inventory.finding import roots_above
from artifactctl.inventory.machines import machine_in, roots_here
from artifactctl.inventory.registering import Statement, register
from artifactctl.inventory.roots import add_root, fit_path, overlapping, refuse_inside_another, why_never
from artifactctl.reclaim.survey import target_of

_MEMORY = Path("/dev/shm")
_NOT_YET = "none yet"
"""The lineage id of the catalog that exists only in the dry run, so that two dry runs give one digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What a command pretends to have registered: a catalog to plan with, a machine that plays along, the replicas."""

    catalog: Catalog
    host: Host
    paths: tuple[bytes, ...]
    homes: tuple[bytes, ...]
    chosen: tuple[tuple[Artifact, Replica], ...]

    def make_real(self, host: Host, catalog: Catalog, *, acting: Acting) -> tuple[tuple[Artifact, Replica], ...]:
        """Write markers, roots and artifacts for good, and return the replicas as the real catalog has them."""
        chosen = []
        for path in self.paths:
            with catalog.reading() as reading:
                covered = bool(roots_above(roots_here(reading, host.identify()), path))
            if not covered:
                parent = os.path.dirname(path)
                add_root(host, catalog, parent, now=acting.now, actor=acting.actor, homes=self.homes)
            artifact = register(host, catalog, path, Statement(), now=acting.now, actor=acting.actor)
            chosen.append((artifact, _copy_at(artifact, path)))
        return tuple(chosen)


@contextmanager
def adopt(
    host: Host, catalog: Catalog | None, paths: Sequence[bytes], *, homes: tuple[bytes, ...], acting: Acting
) -> Iterator[Adoption]:
    """Yield the adoption of `paths` (absolute, existing, unregistered); everything about it is forgotten at the end."""
    folder = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="artifactctl-", dir=folder) as name:
        trial = _trial_catalog(catalog, Path(name) / "catalog.db", acting=acting)
        try:
            markers: dict[bytes, Marker] = {}
            pretended = cast("Host", _MarkedHost(host, markers))
            chosen = []
            for path in paths:
                _cover(host, trial, path, markers, homes=homes, acting=acting)
                artifact = register(pretended, trial, path, Statement(), now=acting.now, actor=acting.actor)
                chosen.append((artifact, _copy_at(artifact, path)))
            yield Adoption(catalog=trial, host=pretended, paths=tuple(paths), homes=homes, chosen=tuple(chosen))
        finally:
            trial.close()


def _copy_at(artifact: Artifact, path: bytes) -> Replica:
    """Return the copy that was registered just now; Refused where none lies at the path, whatever lies elsewhere."""
    for replica in artifact.replicas:
        if replica.state is ReplicaState.LIVE and target_of(replica).absolute == path:
            return replica
    raise Refused(
        f"{artifact.name} has no live copy at {display_path(path)}", remedy=f"artifactctl show {artifact.name}"
    )


def _trial_catalog(catalog: Catalog | None, place: Path, *, acting: Acting) -> Catalog:
    if catalog is None:
        trial = create_or_upgrade(place, now=acting.now)
        trial.lineage_id = _NOT_YET
        return trial
    copy_catalog(catalog.location, place)
    return open_trial(place, now=acting.now)


def _cover(
    host: Host,
    trial: Catalog,
    path: bytes,
    markers: dict[bytes, Marker],
    *,
    homes: tuple[bytes, ...],
    acting: Acting,
) -> None:
    """Make the folder around `path` a root of the trial catalog, unless a root covers it already."""
    _refuse_what_never_goes(path, homes=homes)
    with trial.reading() as reading:
        if roots_above(roots_here(reading, host.identify()), path):
            return
    absolute, link = host.resolve(path)
    if link is not None:
        raise UsageError(
            f"{display_path(path)} goes through the symbolic link {display_path(link)}",
            remedy="give the path without links: `realpath PATH` prints it",
        )
    parent = _fit_parent(host, absolute, homes=homes)
    machine, usage, identity = host.identify(), host.usage(parent), host.identity(parent)
    if identity is None:
        raise UsageError(f"{display_path(parent)} is not there", remedy="check the path")
    name = f"trial-{hashlib.sha256(parent).hexdigest()[:12]}"
    root = Root(
        root_id=name,
        name=os.path.basename(parent).decode("utf-8", "replace") or "root",
        host_id=0,
        path=parent,
        filesystem_uuid=usage.filesystem_uuid,
        filesystem_type=usage.filesystem_type,
        inode=identity.inode,
        attestation=READ_ONLY.text if usage.is_network else "",
    )
    with trial.writing(acting.actor, acting.now) as writing:
        overlapping(writing, parent, machine)
        refuse_inside_another(host, parent)
        known = machine_in(writing, machine)
        writing.add_root(replace(root, host_id=known.host_id))
    markers[parent] = Marker(
        root_id=root.root_id,
        name=root.name,
        catalog_id=trial.lineage_id,
        catalog_epoch=trial.epoch,
        filesystem_uuid=usage.filesystem_uuid,
        inode=identity.inode,
    )


def _refuse_what_never_goes(path: bytes, *, homes: tuple[bytes, ...]) -> None:
    """Refuse by the path that was typed, before anything is said about the folder around it. UnfitTarget."""
    shown = display_path(path)
    if any(part == MARKER_DIRECTORY or part.startswith(QUARANTINE_BESIDE) for part in path.split(b"/")):
        raise UnfitTarget(
            f"{shown} cannot be reclaimed: there artifactctl keeps what is set aside, and its own records",
            remedy="`artifactctl quarantine ls` shows what is there; `artifactctl quarantine purge NAME` deletes it",
        )
    why = why_never(path, homes=homes)
    if why:
        raise UnfitTarget(f"{shown} cannot be reclaimed: it {why}", remedy="name a file or folder of your data")


def _fit_parent(host: Host, path: bytes, *, homes: tuple[bytes, ...]) -> bytes:
    """Return the folder around the path; UnfitTarget, naming the path that was typed, when that can be no root."""
    try:
        return fit_path(host, os.path.dirname(path), homes=homes)
    except UnfitRoot as unfit:
        raise UnfitTarget(
            f"{display_path(path)} cannot be reclaimed by its path: the folder around it would have to become a "
            f"managed root, and {unfit.message}",
            remedy="move it into a folder of your data and reclaim it there",
        ) from unfit


class _MarkedHost:
    """The machine as it will be once the markers of the new roots are written; it only looks."""

    def __init__(self, host: Host, markers: dict[bytes, Marker]) -> None:
        self._host = host
        self._markers = markers

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            return getattr(self._host, name)

    def read_marker(self, root: bytes) -> Marker | None:
        """Return the marker that is there, or the one that will be."""
        return self._markers.get(root) or self._host.read_marker(root)

    def read_mirror(self, root: bytes, topic: str) -> bytes | None:
        """Return what was mirrored into the root: nothing where the root is yet to be made."""
        return None if root in self._markers else self._host.read_mirror(root, topic)

    def placement(self, root: Root, target: ManagedPath) -> Placement:
        """Take it that a new root, the folder that holds the target, can hold its quarantine; asked again later."""
        if root.path in self._markers:
            return Placement(possible=True, sibling=False, detail="")
        return self._host.placement(root, target)

    def observe(self, root: Root, target: ManagedPath, *, catalog_id: str, catalog_epoch: int) -> Observation:
        """Observe as always; a missing marker of a new root counts as the one that will be written."""
        seen = self._host.observe(root, target, catalog_id=catalog_id, catalog_epoch=catalog_epoch)
        place = seen.confinement
        if root.path not in self._markers or place.marker is not MarkerState.MISSING:
            return seen
        return replace(seen, confinement=replace(place, marker=MarkerState.MATCHES, marker_detail=""))
