"""Managed roots: the only folders below which anything may be renamed or removed."""

import posixpath
import uuid
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from artifactctl import audit
from artifactctl.catalog import Catalog, Reading, Writing
from artifactctl.domain.artifacts import Root
from artifactctl.domain.attestation import NOTHING_STATED, READ_ONLY, Attestation
from artifactctl.domain.audit import AuditAction, AuditEntry, JsonValue
from artifactctl.domain.errors import HostFailure, UsageError
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.ledger import KnownHost, KnownVolume
from artifactctl.domain.observation import VolumeUsage
from artifactctl.domain.roles import Act
from artifactctl.domain.text import display_path
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.attesting import attest_root, require_named, uptime_evidence
from artifactctl.inventory.failures import RootTaken, UnfitRoot
from artifactctl.inventory.machines import machine_in, roots_here
from artifactctl.inventory.marking import known_again, marker_for, own_marker, subvolume_evidence
from artifactctl.inventory.naming import LONGEST_NAME
from artifactctl.inventory.targets import is_file

NEVER = (b"/", b"/proc", b"/sys", b"/dev", b"/boot", b"/usr", b"/etc", b"/var")
NEVER_INSIDE = (b"/proc", b"/sys", b"/dev", b"/boot", b"/usr", b"/etc")
_HOMES = (b"/root", b"/home")


def add_root(
    host: Host,
    catalog: Catalog,
    path: bytes,
    *,
    now: datetime,
    actor: str,
    name: str = "",
    attestation: Attestation = NOTHING_STATED,
    homes: tuple[bytes, ...] = (),
) -> Root:
    """Manage a folder: write its marker, then record it. `homes` are home directories of this machine's users.

    A folder that other machines may mount is read-only as long as nobody states which: nothing is written, not even
    the marker, and nothing below can be removed. All that only reads works.
    Adding the same folder again gives back the root that it is; what is stated then takes the place of what was.
    """
    absolute = fit_path(host, path, homes=homes)
    identity, usage = host.identity(absolute), host.usage(absolute)
    if identity is None:  # removed since it was looked at
        raise UnfitRoot(f"{display_path(absolute)} is not there", remedy="make the folder first")
    stated = READ_ONLY if usage.is_network and not attestation.text else attestation
    if usage.read_only and stated is not READ_ONLY:
        raise UnfitRoot(
            f"{display_path(absolute)} is on a read-only filesystem", remedy="give a folder that can be written"
        )
    machine = host.identify()
    with catalog.reading() as reading:
        known = overlapping(reading, absolute, machine)
    if known is None:  # before its marker is written
        catalog.require(Act.CHANGE_ROOT, actor, now, about=display_path(absolute))
    refuse_inside_another(host, absolute)
    marker = own_marker(host, catalog, absolute, identity)
    if known is not None:
        again = known_again(host, catalog, known, marker, identity, may_write=known.is_marked)
        acting = Acting(actor=actor, host=machine.hostname, now=now)
        return _stated_again(host, catalog, again, attestation, acting=acting)
    root_id = marker.root_id if marker is not None else str(uuid.uuid4())
    chosen = check_root_name(name or _name_from(absolute))
    with catalog.reading() as reading:
        _require_free_name(reading, chosen, root_id)
        require_named(reading, machine, attestation)
    if marker is None and stated is not READ_ONLY:
        host.write_marker(absolute, marker_for(catalog, root_id, chosen, identity))
    since = host.uptime()
    with catalog.writing(actor, now) as writing:
        known_host = machine_in(writing, machine)
        root = Root(
            root_id=root_id,
            name=chosen,
            host_id=known_host.host_id,
            path=absolute,
            filesystem_uuid=usage.filesystem_uuid,
            filesystem_type=usage.filesystem_type,
            inode=identity.inode,
            attestation=stated.text,
        )
        added = writing.add_root(root)
        writing.record_volume(_volume(usage, known_host, now))
        told = {**subvolume_evidence(identity), "attestation": stated.text, **uptime_evidence(since)}
        audit_root(writing, AuditAction.ROOT_ADD, added, host=machine.hostname, told=told)
    return added


def _stated_again(host: Host, catalog: Catalog, root: Root, attestation: Attestation, *, acting: Acting) -> Root:
    if attestation.text in ("", root.attestation):
        return root
    return attest_root(host, catalog, root.name, attestation, acting=acting)


def fit_path(host: Host, path: bytes, *, homes: tuple[bytes, ...]) -> bytes:
    """Return the absolute path of a folder that can be a root; UnfitRoot with the reason otherwise."""
    if not path or path != path.strip() or path.startswith(b"-") or b"\0" in path:
        raise UnfitRoot(f"{display_path(path)!r} is no path of a folder", remedy="give an absolute path, such as /data")
    if not path.startswith(b"/"):
        raise UnfitRoot(f"{display_path(path)} is not absolute", remedy="give an absolute path, such as /data")
    if b".." in path.split(b"/"):
        raise UnfitRoot(f"{display_path(path)} climbs up with `..`", remedy="give the path without `..`")
    absolute, link = host.resolve(path)
    if link is not None:
        raise UnfitRoot(
            f"{display_path(path)} is reached through the link {display_path(link)}",
            remedy="give the path without links",
        )
    absolute = posixpath.normpath(b"/" + absolute.lstrip(b"/"))
    _refuse_system_folder(absolute, homes)
    if host.identity(absolute) is None:
        raise UnfitRoot(f"{display_path(absolute)} is not there", remedy="make the folder first")
    if is_file(next(iter(host.walk(absolute)))):
        raise UnfitRoot(f"{display_path(absolute)} is no folder", remedy="give a folder")
    return absolute


def _refuse_system_folder(absolute: bytes, homes: tuple[bytes, ...]) -> None:
    why = why_never(absolute, homes=homes)
    if why:
        raise UnfitRoot(f"{display_path(absolute)} {why}", remedy="give a folder of your data")


def why_never(absolute: bytes, *, homes: tuple[bytes, ...]) -> str:
    """Return why a folder can neither be a managed root nor be removed, "" when nothing about its place forbids it."""
    inside = any(absolute == top or absolute.startswith(top + b"/") for top in NEVER_INSIDE)
    if absolute in NEVER or inside:
        return "belongs to the system"
    is_home = absolute in homes or absolute in _HOMES or posixpath.dirname(absolute) == b"/home"
    return "is a home directory itself" if is_home else ""


def _name_from(absolute: bytes) -> str:
    return display_path(absolute.rpartition(b"/")[2]).replace(":", "_").lstrip("-")


def check_root_name(name: str) -> str:
    """Return the name if a root can have it; UsageError otherwise."""
    problem = ""
    if not 1 <= len(name) <= LONGEST_NAME // 2:
        problem = f"has {len(name)} characters; 1 to {LONGEST_NAME // 2} are possible"
    elif name.startswith(("-", ".", "/")) or "/" in name or ":" in name:
        problem = "holds a slash or colon, or begins with a dash or dot"
    elif any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in name):
        problem = "holds a control character"
    if problem:
        raise UsageError(f"{name!r} cannot name a root: it {problem}", remedy="give it another name with --name")
    return name


def overlapping(reading: Reading, absolute: bytes, identity: HostIdentity) -> Root | None:
    """Return the root that is exactly this folder; RootTaken when one is around or inside of it."""
    for root in roots_here(reading, identity):
        if root.path == absolute:
            return root
        if absolute.startswith(root.path + b"/") or root.path.startswith(absolute + b"/"):
            raise RootTaken(
                f"{display_path(absolute)} overlaps the root {root.name} at {display_path(root.path)}",
                remedy=f"use {root.name}, or `artifactctl root forget {root.name}` first",
            )
    return None


def refuse_inside_another(host: Host, absolute: bytes) -> None:
    """Refuse a folder inside a root of any catalog: its holds and leases would not be known. RootTaken."""
    above = posixpath.dirname(absolute)
    while above != b"/":
        try:
            marked = host.identity(above + b"/.artifactctl/root.json") is not None
        except HostFailure:  # what may not be looked at may be one
            marked = True
        if marked:
            raise RootTaken(
                f"{display_path(absolute)} lies inside the managed root at {display_path(above)}",
                remedy="use that root with the catalog that manages it; a folder has one catalog",
            )
        above = posixpath.dirname(above)


def _require_free_name(reading: Reading, name: str, root_id: str) -> None:
    holder = reading.root(name)
    if holder is not None and holder.root_id != root_id:
        raise RootTaken(f"the root {name} is at {display_path(holder.path)}", remedy="give it another name with --name")


def _volume(usage: VolumeUsage, host: KnownHost, now: datetime) -> KnownVolume:
    return KnownVolume(
        filesystem_uuid=usage.filesystem_uuid,
        host_id=host.host_id,
        mount=usage.mount,
        filesystem_type=usage.filesystem_type,
        device=usage.device,
        size_bytes=usage.size_bytes,
        seen_at=now,
    )


def list_roots(catalog: Catalog) -> tuple[Root, ...]:
    """Return the managed roots by name."""
    with catalog.reading() as reading:
        return reading.roots()


def audit_root(
    writing: Writing,
    action: AuditAction,
    root: Root,
    *,
    host: str,
    told: Mapping[str, JsonValue] = MappingProxyType({}),
) -> None:
    """Append an event about a root within the caller's transaction; `told` is added to what it was."""
    audit.append(
        writing.connection,
        AuditEntry(
            at=writing.now,
            actor=writing.actor,
            host=host,
            action=action,
            path=root.path,
            evidence={"root_id": root.root_id, "name": root.name, "filesystem_uuid": root.filesystem_uuid, **told},
        ),
    )
