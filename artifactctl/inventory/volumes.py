"""Volumes by whatever name a person gives them, and what each holds as far as the catalog knows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from artifactctl.capacity.headroom import NO_RESERVE, measure_headroom
from artifactctl.catalog.failures import UnknownObject
from artifactctl.catalog.reading import Reading
from artifactctl.domain.artifacts import Replica, ReplicaState, Reservation, Root
from artifactctl.domain.errors import HostRefused
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.observation import VolumeUsage
from artifactctl.domain.suggestions import did_you_mean
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.machines import roots_here
from artifactctl.inventory.own_files import measure_own_files
from artifactctl.report.volumes import VolumeAccount

_SET_ASIDE = (ReplicaState.QUARANTINING, ReplicaState.QUARANTINED, ReplicaState.PURGING, ReplicaState.RESTORING)
_IN_PLACE = (ReplicaState.LIVE, ReplicaState.BUILDING, ReplicaState.ARCHIVING)


def find_volume(host: Host, word: str, *, roots: Sequence[Root], path: bytes) -> VolumeUsage:
    """Return the space of the volume that a word means on a machine: one of its `roots`, a path, a filesystem UUID.

    `path` is the word as an absolute path.
    """
    named = next((root for root in roots if root.name == word), None)
    if named is not None:
        return host.usage(named.path)
    if word and host.identity(path) is not None:
        return host.usage(path)
    mounts = host.mounts()
    for usage in mounts:
        if usage.filesystem_uuid == word:
            return usage
    known = [root.name for root in roots] + [display_path(usage.mount) for usage in mounts]
    raise UnknownObject(
        f"`{word}` is no volume, root, path or filesystem UUID of {host.identify().hostname}",
        remedy=did_you_mean(word, known),
    )


def account_volumes(host: Host, reading: Reading | None, *, now: datetime) -> tuple[VolumeAccount, ...]:
    """Return every volume of this machine with what the catalog knows of it."""
    machine = host.identify()
    roots = roots_here(reading, machine) if reading else ()
    here = {root.root_id for root in roots}
    reservations = reading.reservations(now) if reading else ()
    known = (replica for artifact in (reading.artifacts() if reading else ()) for replica in artifact.replicas)
    replicas = [replica for replica in known if replica.root.root_id in here]
    mounted = {usage.filesystem_uuid or usage.device: usage for usage in host.mounts()}
    own: dict[str, int] = defaultdict(int)
    for root in roots:
        own[root.filesystem_uuid] += measure_own_files(host, root.path)
        if root.filesystem_uuid not in mounted:
            below = _space_at(host, root)  # a root is listed wherever it lies, unless its volume is not mounted
            if below is not None and below.filesystem_uuid == root.filesystem_uuid:
                mounted[below.filesystem_uuid] = below
    return tuple(
        _account(
            usage,
            roots=roots,
            replicas=replicas,
            reservations=reservations,
            own_bytes=own.get(usage.filesystem_uuid, 0),
            machine=machine,
            now=now,
        )
        for usage in sorted(mounted.values(), key=lambda usage: usage.mount)
    )


def _space_at(host: Host, root: Root) -> VolumeUsage | None:
    """Return the space at a root, None where nothing is there, or a machine without Python cannot tell."""
    try:
        return host.usage(root.path) if host.identity(root.path) is not None else None
    except HostRefused:
        return None


def _account(
    usage: VolumeUsage,
    *,
    roots: Iterable[Root],
    replicas: Iterable[Replica],
    reservations: Sequence[Reservation],
    own_bytes: int,
    machine: HostIdentity,
    now: datetime,
) -> VolumeAccount:
    on_it = [replica for replica in replicas if replica.root.filesystem_uuid == usage.filesystem_uuid]
    names = [root.name for root in roots if root.filesystem_uuid == usage.filesystem_uuid]
    headroom = measure_headroom(usage, reservations=reservations, reserve=NO_RESERVE)
    _, limited_by = headroom.binding(peak_bytes=usage.available_bytes, files=1)
    return VolumeAccount(
        host=machine.hostname,
        elsewhere=machine.elsewhere,
        name=", ".join(names) or display_path(usage.mount),
        mount=usage.mount,
        filesystem_type=usage.filesystem_type,
        filesystem_uuid=usage.filesystem_uuid,
        size_bytes=usage.size_bytes,
        available_bytes=usage.available_bytes,
        used_bytes=usage.used_bytes,
        reserved_bytes=headroom.promised_bytes,
        quarantined_bytes=sum(replica.allocated_bytes for replica in on_it if replica.state in _SET_ASIDE),
        catalogued_bytes=sum(replica.allocated_bytes for replica in on_it if replica.state in _IN_PLACE),
        own_bytes=own_bytes,
        limited_by=limited_by,
    )
