"""Saying who else has files open on a volume, taking that back, and what of it holds for the machine at hand."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

from artifactctl import audit
from artifactctl.catalog import Catalog, Reading
from artifactctl.catalog.failures import UnknownObject
from artifactctl.domain.artifacts import Root
from artifactctl.domain.attestation import Attestation, Regime, Statement, applied_here
from artifactctl.domain.audit import AuditAction, AuditEntry, JsonValue
from artifactctl.domain.errors import UsageError
from artifactctl.domain.identity import HostIdentity
from artifactctl.domain.roles import Act
from artifactctl.domain.text import display_path
from artifactctl.domain.uptime import Uptime
from artifactctl.hosts.protocol import Host
from artifactctl.inventory.acting import Acting
from artifactctl.inventory.failures import RootTaken
from artifactctl.inventory.holding import mirror_holds
from artifactctl.inventory.machines import known_machine, roots_here
from artifactctl.inventory.marking import marker_for, own_marker

_STATED_BY = (AuditAction.ROOT_ADD, AuditAction.ROOT_ATTEST, AuditAction.ROOT_WITHDRAW)


def attest_root(
    host: Host, catalog: Catalog, name: str, attestation: Attestation, *, acting: Acting, reason: str = ""
) -> Root:
    """Record who else has files open below a root of this machine, in place of what was said before.

    A statement that does not name this machine is refused: it is not true. Nothing at all (`Regime.NOTHING`) takes
    what was said back, which is possible at any time: what was set aside stays, and can only be restored.
    A root that was read-only until now gets its marker first, and the holds that stand below it.
    """
    catalog.require(Act.CHANGE_ROOT, acting.actor, acting.now, about=name)
    identity = host.identify()
    with catalog.reading() as reading:
        root = next((each for each in roots_here(reading, identity) if each.name == name), None)
        if root is None:
            raise UnknownObject(f"there is no root named `{name}` here", remedy="`artifactctl root ls` lists them")
        require_named(reading, identity, attestation)
    taken_back = attestation.regime is Regime.NOTHING
    since = host.uptime()
    if not root.is_marked:
        if taken_back:
            return root
        catalog.require(Act.CHANGE_ROOT, acting.actor, acting.now, about=root.name)  # before the marker is written
        _mark(host, catalog, root)
    with catalog.writing(acting.actor, acting.now) as writing:
        changed = writing.update_root(replace(root, attestation=attestation.text))
        entry = acting.entry(
            AuditAction.ROOT_WITHDRAW if taken_back else AuditAction.ROOT_ATTEST,
            path=root.path,
            reason=reason,
            evidence={
                "root_id": root.root_id,
                "name": root.name,
                "attestation": attestation.text,
                "before": root.attestation,
                **uptime_evidence(since),
            },
        )
        audit.append(writing.connection, entry)
    if not root.is_marked:
        mirror_holds(catalog, host, [changed])
    return changed


def _mark(host: Host, catalog: Catalog, root: Root) -> None:
    found = host.identity(root.path)
    if found is None or (found.filesystem_uuid, found.inode) != (root.filesystem_uuid, root.inode):
        raise RootTaken(
            f"{display_path(root.path)} is not the folder that was added as `{root.name}`",
            remedy="mount its volume, then say it again",
        )
    if own_marker(host, catalog, root.path, found) is None:
        host.write_marker(root.path, marker_for(catalog, root.root_id, root.name, found))


def require_named(reading: Reading, identity: HostIdentity, attestation: Attestation) -> None:
    """UsageError when a list of sole clients leaves out the machine that has the root mounted."""
    names = names_of(reading, identity)
    statement = applied_here(attestation, names, stated_at=None)
    if statement is not None and not statement.covers_this_machine:
        shown = min(names, default=identity.hostname)
        raise UsageError(
            f"this machine ({shown}) has the volume mounted as well, and is not among the sole clients",
            remedy=f"name every machine that mounts it: --sole-clients {shown},{attestation.text.partition(':')[2]}",
        )


def statements_for(reading: Reading, identity: HostIdentity) -> dict[str, Statement]:
    """Return what is on record about each root's volume, by root id, as the machine takes it."""
    names = names_of(reading, identity)
    found = ((root, statement_about(reading, root, names)) for root in reading.roots() if root.attestation)
    return {root.root_id: statement for root, statement in found if statement is not None}


def names_of(reading: Reading, identity: HostIdentity) -> frozenset[str]:
    """Return what the machine is called in a statement: its name in the catalog, and its own name unless another one
    is registered under that."""
    known = known_machine(reading, identity)
    taken = {host.name for host in reading.hosts() if known is None or host.host_id != known.host_id}
    own = {identity.hostname} - taken
    return frozenset(own if known is None else {known.name, *own})


def statement_about(reading: Reading, root: Root, names: Collection[str]) -> Statement | None:
    """Return what is on record about the root's volume, as the machine called by `names` takes it."""
    attestation = Attestation.from_text(root.attestation)
    if not root.attestation:
        return None
    statement = applied_here(attestation, names, stated_at=None)
    if statement is None:
        return None
    told = _stated(reading, root)
    if not told:
        return statement
    return replace(statement, stated_at=max(entry.at for entry in told), stated_since=_uptime_in(told[-1]))


def uptime_evidence(since: Uptime) -> dict[str, JsonValue]:
    """Return what an event about a statement keeps of when it was made, whatever the clock says."""
    return {
        "machine_id": since.machine_id,
        "boot_id": since.boot_id,
        "uptime_microseconds": since.since_boot // timedelta(microseconds=1),
    }


def _uptime_in(entry: AuditEntry) -> Uptime | None:
    """Return what `uptime_evidence` kept, None in an event of a version that did not."""
    told = entry.evidence if isinstance(entry.evidence, dict) else {}
    machine_id, boot_id, since = (told.get(key) for key in ("machine_id", "boot_id", "uptime_microseconds"))
    if not (isinstance(machine_id, str) and isinstance(boot_id, str) and isinstance(since, int)):
        return None
    return Uptime(machine_id=machine_id, boot_id=boot_id, since_boot=timedelta(microseconds=since))


def _stated(reading: Reading, root: Root) -> list[AuditEntry]:
    """Return the events by which something was said about a root, oldest first."""
    told = [
        event
        for action in _STATED_BY
        for event in audit.events(reading.connection, action=action, path=root.path)
        if isinstance(event.entry.evidence, dict) and event.entry.evidence.get("root_id") == root.root_id
    ]
    return [event.entry for event in sorted(told, key=lambda event: event.event_id)]
